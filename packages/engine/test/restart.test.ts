import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FairleadError, type Store } from '@fairlead/core'
import { type EngineState, prepareCommands } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore, stateHash } from '@fairlead/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { START, stateFrom, TraceMaker } from './trace.ts'

const STEPS = 1_000
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
  let state: EngineState = await stateFrom(store, START, preset)
  const answers: string[] = []
  const leases: string[] = []
  for (let i = 0; i < STEPS; i++) {
    const { at, command } = maker.next(state)
    state.forgetStoredKeys()
    const [prepared = command] =
      (await prepareCommands([command], { store, market: state.market, written })) ?? []
    answers.push(answerOf(state, prepared, at))
    const outcome = state.takeOutcome()
    leases.push(...outcome.offers.map(({ lease }) => lease.id))
    await store.commit(outcome.batch)
    state.settle(outcome)
    if (restarts) state = await stateFrom(store, state.market.nowMs, preset)
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

function answerOf(
  state: EngineState,
  command: Parameters<EngineState['apply']>[0],
  at: number,
): string {
  try {
    const reply = state.apply(command, at)
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

  it.each([1, 2, 3, 4, 5, 6])(
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

  it.each([1, 2, 3, 4])(
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

describe('on SQLite', () => {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  })

  it('ENGINE-4: a restart after every single commit changes nothing there either', async () => {
    const onDisk = async (restarts: boolean): Promise<Run> => {
      const folder = mkdtempSync(join(tmpdir(), 'fairlead-restart-'))
      folders.push(folder)
      const store = await openSqliteStore(join(folder, 'fairlead.db'))
      const result = await run(1, 'queue', restarts, store)
      await store.close()
      return result
    }
    const steady = await onDisk(false)
    const restarted = await onDisk(true)
    expect(restarted.leases).toEqual(steady.leases)
    expect(restarted.hash).toBe(steady.hash)
    // What the store is made of has no say in what is decided.
    expect(steady.leases).toEqual((await run(1, 'queue', false)).leases)
  })
})
