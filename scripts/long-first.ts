// The order of the test files: those that take longest begin first, so that at the end no worker waits for one of them.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Longest first. Only the order hangs on it. */
const LONG = [
  'packages/fairlead/test/commands.test.ts',
  'packages/testkit/test/mutants.test.ts',
  'packages/engine/test/restart.test.ts',
  'packages/fairlead/test/limits.test.ts',
  'packages/server/test/hostile/scope.test.ts',
  'packages/signup/test/opening.test.ts',
  'packages/testkit/test/simulator.test.ts',
  'packages/fairlead/test/storage.test.ts',
  'packages/server/test/hostile/connections.test.ts',
  'packages/fairlead/test/job-commands.test.ts',
  'packages/server/test/tls.test.ts',
  'packages/fairlead/test/settings-commands.test.ts',
]

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONG.findIndex((name) => moduleId.endsWith(name))
      return found === -1 ? LONG.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
