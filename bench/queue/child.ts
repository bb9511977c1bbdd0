/**
 * One measurement, in a process of its own: heap, compiled code and clients of other subjects cannot
 * disturb it. `node --expose-gc child.js SUBJECT SCENARIO JSON` prints one line of JSON with the figures.
 */
import { writeSync } from 'node:fs'
import { openSubject } from './open-subject.ts'
import { SCENARIOS, type ScenarioName, type Sizes, warmUp } from './scenarios.ts'
import type { Place, SubjectName, WrittenPolicy } from './subject.ts'

/** What the third argument holds. */
export interface ChildInput {
  readonly place: Place
  readonly sizes: Sizes
  /** For Fairlead: what differs from its defaults. */
  readonly policy?: WrittenPolicy
}

const [name, scenario, input] = process.argv.slice(2)
const { place, sizes, policy } = JSON.parse(input ?? '{}') as ChildInput

// The bench has been ended: nobody waits for figures any more.
process.on('disconnect', () => process.exit(1))

const subject = await openSubject(name as SubjectName, place, policy)
await warmUp(subject)
const figures = await SCENARIOS[scenario as ScenarioName](subject, sizes)
writeSync(1, `${JSON.stringify(figures)}\n`)
// Whatever is still waiting goes with the folder or the server.
process.exit(0)
