import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    reporters: ['default', './scripts/count-reporter.mjs'],
    testTimeout: 60_000,
    globalSetup: './scripts/test-servers.mjs',
  },
})
