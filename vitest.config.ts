import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongFirst } from './scripts/long-first.ts'

export default defineConfig(({ mode }) => ({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['packages/*/src/**/*.test.ts'],
          // They share their modules: to load these anew for each file takes longer than the tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'wholes', include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'] },
      },
    ],
    reporters: ['default', './scripts/count-reporter.mjs'],
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    // On two cores Vitest would take one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Long properties take a third of it on two slow cores.
    testTimeout: 150_000,
    globalSetup: './scripts/test-servers.mjs',
    sequence: { sequencer: LongFirst },
    env: { LONG_TESTS: mode === 'long' ? '1' : '' },
  },
}))
