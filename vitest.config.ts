import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongFirst } from './scripts/long-first.ts'

export default defineConfig(({ mode }) => ({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    // They share a worker's modules: to load these anew for each file takes longer than most tests.
    isolate: false,
    // What is built is loaded by Node itself, without a transformation.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    reporters: ['default', './scripts/count-reporter.mjs'],
    // On two cores Vitest would take one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Long properties take a third of it on two slow cores.
    testTimeout: 150_000,
    // Servers and browsers start in hooks: the time only ends what hangs.
    hookTimeout: 150_000,
    globalSetup: './scripts/test-servers.mjs',
    sequence: { sequencer: LongFirst },
    env: { LONG_TESTS: mode === 'long' ? '1' : '' },
  },
}))
