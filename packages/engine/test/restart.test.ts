import { type AuditEntry, FairleadError, type Seed, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import {
  type EngineState,
  encodeBatch,
  KnownKeys,
  recoverState,
  type Submission,
} from '@fairlead/engine'
import { MemoryStore, stateHash } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import { runEngine, type Seen } from './engine-run.ts'
import { expectAlike, OneStore, RecordedTrace } from './recorded-trace.ts'
import { SqliteDisk } from './sqlite-disk.ts'
import { PRESETS, preparedOn, stateFrom, submit, TraceMaker, type TracePreset } from './trace.ts'

const STEPS = 1_000
/** Traces with a restart after each batch; `npm run test:long` takes more. */
const RESTARTED = process.env['LONG_TESTS'] ? [1, 2, 3, 4, 5, 6] : [1, 2, 3]
const RECOVERIES = ['from the tables', 'from tables and log'] as const
const WITH_SESSIONS = process.env['LONG_TESTS'] ? [1, 2, 3, 4] : [1, 2]
/** Rows of this many batches come to the tables together, at most. */
const ROWS_BEHIND_MAX = 12

/** When a state is recovered: never, after each batch from the tables alone, or from tables that lag and the log. */
type Restarts = 'none' | 'from the tables' | 'from tables and log'

/** Runs a trace with one batch a step. */
async function run(
  seed: number,
  preset: TracePreset,
  restarts: Restarts = 'none',
  options: { readonly hasSessions?: boolean } = {},
): Promise<Run> {
  const store = new MemoryStore()
  const maker = new TraceMaker(seed, options)
  const dice = new SeededDice(taggedHashHex('fairlead|rows', seed) as Seed)
  let state: EngineState = await stateFrom(store, preset)
  let keys = new KnownKeys()
  const answers: string[] = []
  const leases: string[] = []
  for (let i = 0; i < STEPS; i++) {
    const { at, command } = maker.next(state)
    const prepared = await preparedOn(store, state, command)
    answers.push(answerOf(() => submit(state, prepared, at, keys), command))
    const { commands, offers } = state.takeOutcome()
    leases.push(...offers.map(({ lease }) => lease.id))
    if (commands.entries.length > 0) {
      const { batch } = store.log.end
      const { digest } = commands
      await store.log.append({ batch: batch + 1, digest, body: encodeBatch(commands) })
    }
    const isTaken = restarts !== 'from tables and log' || dice.draw(ROWS_BEHIND_MAX) === 0
    if (isTaken || i === STEPS - 1) {
      await store.tables.apply(state.takeRows(), store.log.end.batch)
      keys = new KnownKeys()
    }
    if (restarts !== 'none') state = await recoverState(store, await store.tables.load())
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

function answerOf(act: () => unknown, { type }: Submission): string {
  try {
    const reply = act()
    // What a limit answers is all that is seen of it.
    return type.endsWith('Limits') ? JSON.stringify(reply) : 'ok'
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return error.code
    throw error
  }
}

describe.each(PRESETS)('preset %s', (preset) => {
  it('ENGINE-4: the traces have workers that leave, come back and are lost', async () => {
    const happened = new Set<unknown>()
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      for (const what of (await run(seed, preset)).happened) happened.add(what)
    }
    for (const what of ['leaseMoved', 'worker_lost', 'disowned']) expect(happened).toContain(what)
  })

  it.each([7, 8])('ENGINE-1: the same commands give the same state (trace %i)', async (seed) => {
    const [one, two] = [await run(seed, preset), await run(seed, preset)]
    expect(two.hash).toBe(one.hash)
    expect((await run(seed + 100, preset)).hash).not.toBe(one.hash)
  })

  it.each(RESTARTED.flatMap((seed) => RECOVERIES.map((how) => [how, seed] as const)))(
    'ENGINE-4, RECOVER-1, FUND-1: a restart after every single batch, %s, changes nothing (trace %i)',
    async (how, seed) => {
      const steady = await run(seed, preset)
      const restarted = await run(seed, preset, how)
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
      const trace = await run(seed, 'queue', 'none', { hasSessions: true })
      for (const what of trace.happened) happened.add(what)
    }
    for (const what of ['sold_out', 'outcome_unknown', 'retry_window_exhausted']) {
      expect(happened).toContain(what)
    }
  })

  it.each(WITH_SESSIONS.flatMap((seed) => RECOVERIES.map((how) => [how, seed] as const)))(
    'DISPATCH-8, RECOVER-1: a restart after every single batch, %s, goes on with the same ranks, tokens and cursors (trace %i)',
    async (how, seed) => {
      const sessions = { hasSessions: true }
      const steady = await run(seed, 'queue', 'none', sessions)
      const restarted = await run(seed, 'queue', how, sessions)
      expect(restarted.leases).toEqual(steady.leases)
      expect(restarted.answers).toEqual(steady.answers)
      expect(restarted.rows).toEqual(steady.rows)
    },
  )
})

/** With all that `openEngine` gives: the loop, its timers, and workers with their sessions. */
describe('an engine that is opened anew after every single batch', () => {
  it.each([3, 5])('ENGINE-4: decides what one that goes on does (trace %i)', async (seed) => {
    const trace = new RecordedTrace(seed, { turns: 25 })
    const steady = await runEngine(new OneStore(), 'goes on', trace.make)
    expectEventful(steady, { batches: 50, leases: 25 })
    expectAlike(await runEngine(new OneStore(), 'is closed', trace.repeat()), steady)
  })

  // What the store is made of has no say either, so that all of these are alike.
  it.each(['goes on', 'is closed', 'is killed'] as const)(
    'ENGINE-4, STORE-13: decides the same on a file, where it %s after each (trace 3)',
    async (after) => {
      const trace = new RecordedTrace(3, { turns: 7 })
      const steady = await runEngine(new OneStore(), 'goes on', trace.make)
      expectEventful(steady, { batches: 15, leases: 10 })
      expectAlike(await runEngine(new SqliteDisk(), after, trace.repeat()), steady)
    },
  )
})

/** A trace in which nothing happens would prove nothing. */
function expectEventful(
  { hashes, leases, rows }: Seen,
  least: { readonly batches: number; readonly leases: number },
): void {
  expect(hashes.length).toBeGreaterThan(least.batches)
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
