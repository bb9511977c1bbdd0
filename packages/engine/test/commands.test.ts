import {
  FairleadError,
  type JobId,
  type KindName,
  type LeaseId,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { sessionUser } from '@fairlead/core/internal'
import {
  type Command,
  decodeBatch,
  type EngineState,
  encodeBatch,
  type LogEntry,
  Replica,
  ReplicaDiverged,
  type Submission,
} from '@fairlead/engine'
import { MemoryStore, stateHash } from '@fairlead/testkit'
import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { anyCommand } from './any-command.ts'
import { ACME, DIGEST } from './rig.ts'
import { connect, preparedOn, presetOf, START, stateFrom, submit, TraceMaker } from './trace.ts'

const STEPS = 300
const UNKNOWN = `0x${'9'.repeat(64)}`

/** A trace of the whole market, of sessions and of limits, and what a state makes of it. */
interface Run {
  readonly steps: readonly { readonly at: number; readonly command: Submission }[]
  readonly store: MemoryStore
  readonly state: EngineState
  readonly entries: readonly LogEntry[]
}

async function run(seed: number): Promise<Run> {
  const store = new MemoryStore()
  const state = await stateFrom(store, presetOf(seed))
  const maker = new TraceMaker(seed, { hasSessions: true, hasPauses: true })
  const steps: { at: number; command: Submission }[] = []
  const entries: LogEntry[] = []
  for (let i = 0; i < STEPS; i++) {
    const { at, command } = maker.next(state)
    const prepared = await preparedOn(store, state, command)
    steps.push({ at, command: prepared })
    refusalOf(() => submit(state, prepared, at))
    entries.push(...state.takeOutcome().commands.entries)
    await store.tables.apply(state.takeRows(), i + 1)
  }
  return { steps, store, state, entries }
}

/** The code of the refusal, or null. */
function refusalOf(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return error.code
    throw error
  }
}

function fresh(seed: number): Promise<EngineState> {
  return stateFrom(new MemoryStore(), presetOf(seed))
}

/** All that is stored in the end, without the time of the last command. */
async function hashOf(state: EngineState): Promise<string> {
  const store = new MemoryStore()
  const rows = state.takeRows()
  await store.tables.apply({ ...rows, meta: { ...rows.meta, beat: '0' } }, 1)
  return stateHash(store)
}

/** Calls that are refused, and calls that only look. */
const WITHOUT_TRACE: readonly Submission[] = [
  { type: 'tick' },
  { type: 'listLimits', key: null },
  { type: 'cancel', jobId: UNKNOWN as JobId, by: 'operator' },
  { type: 'ack', leaseId: UNKNOWN as LeaseId, by: 'provider:a' as ProviderId },
  { type: 'heartbeat', providerId: 'provider:none' as ProviderId },
  { type: 'openChallenge', providerId: 'provider:none' as ProviderId, value: UNKNOWN },
  { type: 'closeEpoch', epochId: 1e9, auditSeq: 0, auditHead: UNKNOWN },
  { type: 'settleEpoch', epochId: 0, batchId: null },
  { type: 'stake', providerId: 'provider:a' as ProviderId, amount: 1n << 64n },
  { type: 'setPolicy', written: { queue: 'none' }, preset: 'queue', assigned: null },
  { type: 'defineLimit', limit: { key: 'l-roll', kind: 'rolling', capacity: -1 } },
  { type: 'completeLimits', requests: [{ leaseId: 'nobody', actuals: [] }] },
  {
    type: 'reserveLimits',
    requests: [{ leaseId: 'asks', requirements: [{ key: 'unknown', amount: 1 }] }],
  },
  {
    type: 'enqueue',
    request: { kind: 'task', payload: { name: '' } },
    txHash: null,
    caller: ACME,
    tier: 'FREE',
    origin: null,
    before: null,
  },
]

const anySeed = fc.nat({ max: 9_999 })

describe('what changes the state', () => {
  test.prop([anySeed, fc.array(fc.nat({ max: 999 }), { minLength: STEPS, maxLength: STEPS })], {
    numRuns: 8,
  })(
    'COMMAND-1: to advance to t1 and then to t2 is to advance to t2, refusals and looks at t1 included',
    async (seed, parts) => {
      const steady = await run(seed)
      const other = await fresh(seed)
      let before = START
      for (const [i, { at, command }] of steady.steps.entries()) {
        const part = parts[i] as number
        const between = before + Math.floor(((at - before) * part) / 1_000)
        refusalOf(() =>
          submit(other, WITHOUT_TRACE[part % WITHOUT_TRACE.length] as Submission, between),
        )
        refusalOf(() => submit(other, command, at))
        before = at
      }
      const [due, found] = [await fresh(seed), other]
      for (const { at, command } of steady.steps) refusalOf(() => submit(due, command, at))
      expect(found.digest).toBe(due.digest)
      expect(await hashOf(found)).toBe(await hashOf(due))
    },
  )

  test.prop([anySeed, fc.infiniteStream(fc.integer({ min: 1, max: 40 }))], { numRuns: 8 })(
    'COMMAND-1, COMMAND-4: a replica comes to the same digests and rows, wherever batches are cut',
    async (seed, sizes) => {
      const { entries, state } = await run(seed)
      expect(entries.length).toBeGreaterThan(STEPS / 4)
      // Cut anew: the digest of each cut is that of a state that was given the same commands.
      const [leader, replica] = [await fresh(seed), new Replica(await fresh(seed))]
      let batch = 0
      for (let from = 0; from < entries.length; ) {
        const cut = entries.slice(from, from + (sizes.next().value as number))
        for (const { command, at } of cut) leader.apply(command, at)
        replica.apply(++batch, encodeBatch({ entries: cut, digest: leader.digest }))
        from += cut.length
      }
      expect(replica.state.digest).toBe(state.digest)
      expect(await hashOf(replica.state)).toBe(await hashOf(leader))
    },
  )

  test.prop([anySeed], { numRuns: 4 })(
    'COMMAND-1: rows that are taken more often say the same in the end',
    async (seed) => {
      const { entries, store } = await run(seed)
      const often = new MemoryStore()
      const state = await stateFrom(often, presetOf(seed))
      let taken = 0
      for (const { command, at } of entries) {
        state.apply(command, at)
        await often.tables.apply(state.takeRows(), ++taken)
      }
      expect(await stateHash(often)).toBe(await stateHash(store))
    },
  )
})

describe('what is recorded', () => {
  const provider = 'provider:a' as ProviderId
  const worker = { providerId: provider, workerId: 'w' as WorkerId }

  async function withLease(): Promise<{ state: EngineState; leaseId: LeaseId; job: Submission }> {
    const state = await stateFrom(new MemoryStore(), 'queue')
    const capabilities: ReadonlySet<KindName> = new Set(['task'])
    const offer = { capabilities, models: new Set(['*']) }
    const job: Submission = {
      type: 'enqueue',
      request: { kind: 'task', payload: { name: 'resize', args: {} }, idempotency_key: 'k' },
      txHash: null,
      caller: ACME,
      tier: 'FREE',
      origin: null,
      before: null,
    }
    state.apply({ type: 'registerProvider', providerId: provider, offer, stake: 0n }, START)
    state.apply({ type: 'connectWorker', ...worker, session: 1, slots: 1, holds: null }, START)
    submit(state, job, START)
    state.apply({ type: 'round' }, START)
    const [lease] = [...state.market.leases.values()]
    state.takeOutcome()
    return { state, leaseId: lease?.id as LeaseId, job }
  }

  it('COMMAND-3: a command that changes nothing is not recorded', async () => {
    const { state, leaseId } = await withLease()
    const held = { leaseId, by: provider, workerId: worker.workerId }
    const complete: Command = {
      type: 'complete',
      ...held,
      digest: DIGEST,
      output: null,
      meta: null,
      actualUnits: null,
    }
    const isChanged = (command: Command, at: number) => state.apply(command, at).isChanged
    expect(isChanged({ type: 'ack', ...held }, START + 1)).toBe(true)
    expect(isChanged({ type: 'heartbeat', providerId: provider }, START + 2)).toBe(true)
    expect(isChanged({ type: 'heartbeat', providerId: provider }, START + 2)).toBe(false)
    expect(isChanged({ type: 'setWorkerSlots', ...worker, slots: 1 }, START + 2)).toBe(false)
    expect(isChanged({ type: 'round' }, START + 2)).toBe(false)
    expect(isChanged({ type: 'listLimits', key: null }, START + 2)).toBe(false)
    expect(isChanged({ type: 'resetLimit', key: 'none' }, START + 2)).toBe(false)
    expect(isChanged(complete, START + 3)).toBe(true)
    // The job has left memory: the engine answers from the store, and the state knows nothing of it.
    expect(() => isChanged(complete, START + 4)).toThrow(FairleadError)
    const types = state.takeOutcome().commands.entries.map(({ command }) => command.type)
    expect(types).toEqual(['ack', 'heartbeat', 'complete'])
  })

  it('COMMAND-3: of many requests on limits those are recorded that change something', async () => {
    const state = await stateFrom(new MemoryStore(), 'queue')
    const limit = { key: 'k', kind: 'concurrency', capacity: 5, timeoutSecs: 60 }
    state.apply({ type: 'defineLimit', limit }, START)
    state.takeOutcome()
    const good = { leaseId: 'one', requirements: [{ key: 'k', amount: 1 }] }
    const wrong = [
      { leaseId: 'two', requirements: [{ key: 'k', amount: -1 }] },
      { leaseId: 3, requirements: 'none' } as unknown as typeof good,
      { leaseId: 'four', requirements: [{ key: 'other', amount: 1 }] },
    ]
    const command: Command = { type: 'reserveLimits', requests: [good, ...wrong, good] }
    expect(state.apply(command, START + 1).reply).toHaveLength(5)
    const { entries } = decodeBatch(encodeBatch(state.takeOutcome().commands))
    expect(entries).toEqual([
      { command: { type: 'reserveLimits', requests: [good] }, at: START + 1 },
    ])
  })

  it('COMMAND-2: of a session the hashes that stand for a user are recorded, not the user', async () => {
    const state = await stateFrom(new MemoryStore(), 'queue')
    const where = { provider: 'p', org_ref: 'o', event_id: 'e', scheduled_time: START + 9 }
    const asked: Submission = {
      type: 'enqueue',
      request: { kind: 'registration', payload: { ...where, user_id: 'user-1', args: {} } },
      txHash: new Uint8Array(32),
      caller: ACME,
      tier: 'FREE',
      origin: null,
      before: null,
    }
    submit(state, asked, START)
    const [entry] = decodeBatch(encodeBatch(state.takeOutcome().commands)).entries
    const session = {
      ...{ platform: 'p', orgRef: 'o', eventId: 'e', scheduledTime: START + 9, isOperators: false },
      ...sessionUser('user-1', START + 9, 'e'),
    }
    expect(entry?.command).toMatchObject({ type: 'enqueue', session })
    expect(entry?.command).not.toHaveProperty('session.userId')
  })

  it('COMMAND-2: a failure that says little can be recorded', async () => {
    const { state, leaseId } = await withLease()
    const little = { leaseId, by: provider, code: '', permanent: undefined as unknown as boolean }
    state.apply({ type: 'fail', ...little }, START + 1)
    const { entries } = decodeBatch(encodeBatch(state.takeOutcome().commands))
    expect(entries[0]?.command).toEqual({ type: 'fail', ...little, permanent: false })
  })
})

describe('a replica', () => {
  async function recorded(seed: number): Promise<readonly LogEntry[]> {
    return (await run(seed)).entries
  }
  const digestOf = async (seed: number, entries: readonly LogEntry[]): Promise<number> => {
    const state = await fresh(seed)
    for (const { command, at } of entries) state.apply(command, at)
    return state.digest
  }

  it('COMMAND-4: stops at the first batch whose digest differs, and names it', async () => {
    const entries = await recorded(4)
    const replica = new Replica(await fresh(4))
    const half = Math.floor(entries.length / 2)
    const [first, second] = [entries.slice(0, half), entries.slice(half)]
    replica.apply(1, encodeBatch({ entries: first, digest: await digestOf(4, first) }))
    const wrong = encodeBatch({ entries: second, digest: 1 })
    expect(() => replica.apply(2, wrong)).toThrow(ReplicaDiverged)
    expect(() => new Replica(replica.state).apply(2, wrong)).toThrow(/^batch 2: /)
  })

  it('COMMAND-4: stops at a command that is refused, or changes nothing, where it is applied', async () => {
    const entries = await recorded(4)
    const { at } = entries.at(-1) as LogEntry
    const refused: Command = {
      type: 'ack',
      leaseId: UNKNOWN as LeaseId,
      by: 'provider:a' as ProviderId,
    }
    for (const [command, how] of [
      [refused, /is refused/],
      [{ type: 'listLimits', key: null }, /changes nothing/],
    ] as const) {
      const replica = new Replica(await fresh(4))
      const record = encodeBatch({ entries: [...entries, { command, at }], digest: 0 })
      expect(() => replica.apply(7, record)).toThrow(how)
    }
  })

  it('COMMAND-4: begins from rows of any moment, and replays what came after them', async () => {
    const seed = 6
    const entries = await recorded(seed)
    for (const half of [1, Math.floor(entries.length / 3), entries.length - 1]) {
      const store = new MemoryStore()
      const before = await stateFrom(store, 'queue')
      for (const { command, at } of entries.slice(0, half)) before.apply(command, at)
      await store.tables.apply(before.takeRows(), half)
      const replica = new Replica(await stateFrom(store, 'queue'))
      const digest = await digestOf(seed, entries)
      const record = encodeBatch({ entries: entries.slice(half), digest })
      // Another digest is refused.
      expect(() => replica.apply(1, record)).not.toThrow()
    }
  })
})

describe('the digest', () => {
  it('COMMAND-5: does not depend on where batches are cut', async () => {
    const { entries } = await run(10)
    const [once, often] = [await fresh(10), await fresh(10)]
    for (const { command, at } of entries) {
      once.apply(command, at)
      often.apply(command, at)
      often.takeOutcome()
    }
    expect(often.digest).toBe(once.digest)
  })

  it.each(['enqueue', 'cancel', 'round', 'reserveLimits', 'complete'] as const)(
    'COMMAND-5: differs where one %s is missing',
    async (type) => {
      const { entries } = await run(12)
      const whole = await fresh(12)
      for (const { command, at } of entries) whole.apply(command, at)
      const missing = entries.findLastIndex(({ command }) => command.type === type)
      expect(missing, 'the trace has one').toBeGreaterThan(0)
      const part = await fresh(12)
      for (const { command, at } of entries.toSpliced(missing, 1))
        refusalOf(() => part.apply(command, at))
      expect(part.digest).not.toBe(whole.digest)
    },
  )

  it('COMMAND-5: differs where a lease went to another worker of the same provider', async () => {
    const { entries } = await run(12)
    const first = (isOne: (command: Command) => boolean): LogEntry =>
      entries.find(({ command }) => isOne(command)) as LogEntry
    const enqueue = first(
      (command) =>
        command.type === 'enqueue' &&
        command.request.kind === 'task' &&
        command.request.options === null,
    )
    const [providerId, at] = ['provider:a' as ProviderId, enqueue.at]
    const workers = ['w-1', 'w-2'] as WorkerId[]
    const states = await Promise.all(
      workers.map(async (freest) => {
        const state = await fresh(12)
        const { command } = first(
          (one) => one.type === 'registerProvider' && one.providerId === providerId,
        )
        state.apply(command, at)
        for (const workerId of workers) state.apply(connect(providerId, workerId, 2), at)
        state.apply({ type: 'setWorkerSlots', providerId, workerId: freest, slots: 9 }, at)
        state.apply(enqueue.command, at)
        state.apply({ type: 'round' }, at)
        return state
      }),
    )
    const leases = states.map(({ market }) => [...market.leases.values()])
    expect(leases.map(([lease]) => lease?.workerId)).toEqual(workers)
    const [one, two] = leases.map(([lease]) => lease?.id)
    expect(one).toBe(two)
    expect(states[0]?.digest).not.toBe(states[1]?.digest)
  })
})

describe('the codec', () => {
  test.prop([fc.array(anyCommand, { maxLength: 30 }), fc.nat()], { numRuns: 200 })(
    'COMMAND-2: every field of every command comes back as it was',
    (commands, digest) => {
      const entries = commands.map((command, i) => ({ command, at: START + i }))
      expect(decodeBatch(encodeBatch({ entries, digest }))).toEqual({ entries, digest })
    },
  )

  it('COMMAND-2: a record that is cut, longer, or of another format is refused', async () => {
    const { entries } = await run(8)
    const record = encodeBatch({ entries: entries.slice(0, 20), digest: 5 })
    for (let length = 0; length < record.length; length++) {
      expect(() => decodeBatch(record.subarray(0, length))).toThrow(RangeError)
    }
    expect(() => decodeBatch(Uint8Array.of(...record, 0))).toThrow(RangeError)
    expect(() => decodeBatch(Uint8Array.of(99, ...record.subarray(1)))).toThrow(/format 99/)
  })
})
