import { type AuditEntry, FairleadError, type Store } from '@fairlead/core'
import { type EngineState, prepareCommands, type Submission } from '@fairlead/engine'
import { MemoryStore, stateHash } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import { type Disk, type NextTurn, RUN_START, runEngine, type Seen } from './engine-run.ts'
import { SqliteDisk } from './sqlite-disk.ts'
import { stateFrom, submit, TraceMaker, type Turn } from './trace.ts'

const STEPS = 1_000
/** Traces with a restart after each commit; `npm run test:long` takes more. */
const RESTARTED = process.env['LONG_TESTS'] ? [1, 2, 3, 4, 5, 6] : [1, 2, 3]
const WITH_SESSIONS = process.env['LONG_TESTS'] ? [1, 2, 3, 4] : [1, 2]
/** Each step is written before the next. */
const written = () => Promise.resolve()

/** Runs a trace with one commit a step; with `restarts` the state is loaded anew after each. */
async function run(
  seed: number,
  preset: 'queue' | 'fund',
  restarts: boolean,
  store: Store = new MemoryStore(),
  options: { readonly hasSessions?: boolean } = {},
): Promise<Run> {
  const maker = new TraceMaker(seed, options)
  let state: EngineState = await stateFrom(store, preset)
  const answers: string[] = []
  const leases: string[] = []
  for (let i = 0; i < STEPS; i++) {
    const { at, command } = maker.next(state)
    const [prepared = command] =
      (await prepareCommands([command], { store, market: state.market, written })) ?? []
    answers.push(answerOf(state, prepared, at))
    const outcome = state.takeOutcome()
    leases.push(...outcome.offers.map(({ lease }) => lease.id))
    await store.commit(outcome.batch)
    if (restarts) state = await stateFrom(store, preset)
  }
  const journal = await store.read.journal(0, 100_000)
  const happened = new Set(journal.map(({ action, details }) => details['reason'] ?? action))
  const rows = await store.read.everything()
  return { hash: await stateHash(store), rows, answers, leases, happened }
}

interface Run {
  readonly hash: string
  readonly rows: unknown[]
  readonly answers: readonly string[]
  readonly leases: readonly string[]
  /** Reasons, and actions without one. */
  readonly happened: ReadonlySet<unknown>
}

function answerOf(state: EngineState, command: Submission, at: number): string {
  try {
    const reply = submit(state, command, at)
    // What a limit answers is all that is seen of it.
    return command.type.endsWith('Limits') ? JSON.stringify(reply) : 'ok'
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return error.code
    throw error
  }
}

describe.each(['queue', 'fund'] as const)('preset %s', (preset) => {
  it('ENGINE-4: the traces have workers that leave, come back and are lost', async () => {
    const happened = new Set<unknown>()
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      for (const what of (await run(seed, preset, false)).happened) happened.add(what)
    }
    for (const what of ['leaseMoved', 'worker_lost', 'disowned']) expect(happened).toContain(what)
  })

  it.each([7, 8])('ENGINE-1: the same commands give the same state (trace %i)', async (seed) => {
    const [one, two] = [await run(seed, preset, false), await run(seed, preset, false)]
    expect(two.hash).toBe(one.hash)
    expect((await run(seed + 100, preset, false)).hash).not.toBe(one.hash)
  })

  it.each(RESTARTED)(
    'ENGINE-4: a restart after every single commit changes nothing (trace %i)',
    async (seed) => {
      const steady = await run(seed, preset, false)
      const restarted = await run(seed, preset, true)
      expect(restarted.leases).toEqual(steady.leases)
      expect(restarted.answers).toEqual(steady.answers)
      expect(restarted.rows).toEqual(steady.rows)
      expect(restarted.hash).toBe(steady.hash)
      // A trace in which nothing happens would prove nothing.
      expect(steady.leases.length).toBeGreaterThan(50)
      expect(new Set(steady.answers).size).toBeGreaterThan(3)
      const isDenied = (answer: string): boolean => answer.includes('"deniedKey":"l-')
      expect(steady.answers.filter(isDenied).length).toBeGreaterThan(0)
    },
  )
})

describe('with registrations', () => {
  it('DISPATCH-8: the traces have every sort of end', async () => {
    const happened = new Set<unknown>()
    for (const seed of [1, 2, 3, 4, 5]) {
      const trace = await run(seed, 'queue', false, new MemoryStore(), { hasSessions: true })
      for (const what of trace.happened) happened.add(what)
    }
    for (const what of ['sold_out', 'outcome_unknown', 'retry_window_exhausted']) {
      expect(happened).toContain(what)
    }
  })

  it.each(WITH_SESSIONS)(
    'DISPATCH-8: a restart after every single commit goes on with the same ranks, tokens and cursors (trace %i)',
    async (seed) => {
      const sessions = { hasSessions: true }
      const steady = await run(seed, 'queue', false, new MemoryStore(), sessions)
      const restarted = await run(seed, 'queue', true, new MemoryStore(), sessions)
      expect(restarted.leases).toEqual(steady.leases)
      expect(restarted.answers).toEqual(steady.answers)
      expect(restarted.rows).toEqual(steady.rows)
    },
  )
})

/** With all that `openEngine` gives: the loop, its timers, and workers with their sessions. */
describe('an engine that is opened anew after every single commit', () => {
  it.each([3, 5])('ENGINE-4: decides what one that goes on does (trace %i)', async (seed) => {
    const trace = new RecordedTrace(seed, { turns: 25 })
    const steady = await runEngine(new OneStore(), 'goes on', trace.make)
    expectEventful(steady, { commits: 50, leases: 25 })
    expectAlike(await runEngine(new OneStore(), 'is closed', trace.repeat()), steady)
  })

  // What the store is made of has no say either, so that all of these are alike.
  it.each(['goes on', 'is closed', 'is killed'] as const)(
    'ENGINE-4, STORE-13: decides the same on a file, where it %s after each (trace 3)',
    async (after) => {
      const trace = new RecordedTrace(3, { turns: 7 })
      const steady = await runEngine(new OneStore(), 'goes on', trace.make)
      expectEventful(steady, { commits: 15, leases: 10 })
      expectAlike(await runEngine(new SqliteDisk(), after, trace.repeat()), steady)
    },
  )
})

function expectAlike(one: Seen, other: Seen): void {
  expect(one.leases).toEqual(other.leases)
  expect(one.answers).toEqual(other.answers)
  expect(one.offers).toEqual(other.offers)
  expect(one.hashes).toEqual(other.hashes)
  expect(one.rows).toEqual(other.rows)
}

/** A trace in which nothing happens would prove nothing. */
function expectEventful(
  { hashes, leases, rows }: Seen,
  least: { readonly commits: number; readonly leases: number },
): void {
  expect(hashes.length).toBeGreaterThan(least.commits)
  expect(leases.length).toBeGreaterThan(least.leases)
  const rowsOf = (name: string) => rows.flatMap(([table, row]) => (table === name ? [row] : []))
  const happened = rowsOf('journal').map(({ action, details }) => {
    return (details as AuditEntry['details'])['reason'] ?? action
  })
  for (const what of ['jobCompleted', 'worker_lost', 'leaseRenewed', 'RELEASED']) {
    expect(happened).toContain(what)
  }
  // Some of those that have ended were deleted.
  const enqueued = happened.filter((what) => what === 'jobEnqueued')
  expect(rowsOf('jobs').length).toBeLessThan(enqueued.length)
}

/** A trace that is made up as an engine goes along, and then done again on others. */
class RecordedTrace {
  readonly #maker: TraceMaker
  readonly #length: number
  readonly #turns: Turn[] = []

  constructor(seed: number, { turns }: { readonly turns: number }) {
    this.#maker = new TraceMaker(seed, { hasSessions: true, startMs: RUN_START })
    this.#length = turns
  }

  readonly make: NextTurn = async (store) => {
    const done = this.#turns.length
    if (done === this.#length) return undefined
    const state = await stateFrom(store, 'queue')
    // First of all some work for the rest of the time.
    const turn = this.#maker.nextTurn(state, done === 0 ? 60 : 4 + (done % 8))
    this.#turns.push(turn)
    return turn
  }

  repeat(): NextTurn {
    const turns = this.#turns.values()
    return async () => turns.next().value
  }
}

/** Its state lasts as long as the object. */
class OneStore implements Disk {
  readonly #store = new MemoryStore()

  async open(): Promise<Store> {
    return this.#store
  }
}
