import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongFirst from './scripts/long-first.ts'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    reporters: ['default', './scripts/count-reporter.mjs'],
    // On two cores Vitest would take one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Long properties take a third of it on two slow cores.
    testTimeout: 150_000,
    sequence: { sequencer: LongFirst },
    globalSetup: './scripts/test-servers.mjs',
  },
})
