import { randomBytes } from 'node:crypto'
import { type Clock, FairleadError, type Preset, type Store, toHex } from '@fairlead/core'
import { type Snapshot, usablePolicy } from '@fairlead/core/internal'
import { prepareCommands } from './commands/prepare-commands.ts'
import { Engine } from './engine.ts'
import { assignedSince, stateOf } from './log/recovery.ts'
import { EngineLoop } from './loop/engine-loop.ts'
import { SystemClock } from './loop/system-clock.ts'
import { SealedStore } from './projector/sealed-store.ts'
import type { EngineState } from './state/engine-state.ts'
import { META } from './state/meta.ts'
import { Subscribers } from './view/subscribers.ts'
import { Connections } from './workers/connections.ts'
import { PayloadCache } from './workers/payload-cache.ts'

/** A store further ahead of the clock than this was written by another clock. */
export const AHEAD_MAX_MS = 60_000
/** Page size for events that were missed. */
const CATCH_UP_PAGE = 1_000

export interface EngineOptions {
  /** A store given as a promise is closed if the engine cannot be opened. */
  readonly store: Store | Promise<Store>
  /** In written form, used for a new store only. An existing store keeps its policy; `setPolicy` changes it. */
  readonly policy?: unknown
  readonly preset?: Preset
  readonly clock?: Clock
  /** Returns 32 random bytes: once for a new store, and for each request without a key. */
  readonly random?: () => Uint8Array
  /**
   * Keys of 32 bytes. The first key encrypts the payloads of registrations; every key decrypts. Without keys
   * payloads are stored in the clear.
   */
  readonly sealKeys?: readonly Uint8Array[]
}

/** Opens an engine on a store: loads the live state and continues where the last engine stopped. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const given = await options.store
  try {
    return await openOn(given, options)
  } catch (error) {
    if (options.store instanceof Promise) await given.close().catch(() => undefined)
    throw error
  }
}

async function openOn(given: Store, options: EngineOptions): Promise<Engine> {
  const { clock = new SystemClock(), random = randomIds(), sealKeys = [] } = options
  // An invalid policy is reported even if the store's own policy will be used.
  usablePolicy(options.policy ?? {}, options.preset ?? 'queue')
  const store = sealKeys.length === 0 ? given : new SealedStore(given, sealKeys)
  let found: Snapshot = await store.load()
  if (found.meta[META.installationSeed] === undefined) {
    await install(store, options, random, clock)
    found = await store.load()
  } else refuseFuture(found, clock.now())

  const connections = new Connections()
  const payloads = new PayloadCache(store)
  const subscribers = new Subscribers(found.lastEntry)
  const stateFrom = async (snapshot: Snapshot): Promise<EngineState> => {
    await subscribers.catchUp(snapshot.lastEntry, (after) =>
      store.read.journal(after, CATCH_UP_PAGE),
    )
    const since = assignedSince(snapshot)
    const assigned = since === null ? [] : await store.read.assignmentsSince(since)
    const state = stateOf(snapshot, assigned)
    // Time never goes back: a clock that lags a little starts at the last time that the store has seen.
    const nowMs = Math.max(clock.now(), state.market.nowMs)
    const gapMs = nowMs - state.market.nowMs
    state.apply({ type: 'resume', gapMs, present: connections.present() }, nowMs)
    state.welcome((providerId, workerId) => connections.sessionOf(providerId, workerId))
    return state
  }
  const loop: EngineLoop = new EngineLoop({
    store,
    clock,
    state: await stateFrom(found),
    reload: async () => stateFrom(await store.load()),
    prepare: (commands) =>
      prepareCommands(commands, {
        store,
        market: loop.state.market,
        written: () => loop.written(),
      }),
    deliver: (outcome) => {
      subscribers.tell(outcome.batch.journal)
      payloads.add(outcome.batch.newJobs)
      const { state } = loop
      connections.deliver(outcome, {
        nowMs: () => loop.state.market.nowMs,
        payloads,
        clock,
        // A refusal means that the engine is closed or reloading, and the offer is void either way.
        withdraw: (leaseId) => void loop.submit({ type: 'withdraw', leaseId }).catch(() => {}),
        isCurrent: () => loop.state === state,
      })
      payloads.forget(outcome.ended)
    },
  })
  return new Engine({ loop, store, random, subscribers, connections })
}

/** Returns 32 random bytes at a time. A hundred are drawn at once, because a draw costs more than its bytes. */
function randomIds(): () => Uint8Array {
  let drawn = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes(100 * 32)
      at = 0
    }
    at += 32
    return drawn.subarray(at - 32, at)
  }
}

/** Writes the rows that a new store must have. */
async function install(
  store: Store,
  { policy = {}, preset = 'queue' }: EngineOptions,
  random: () => Uint8Array,
  clock: Clock,
): Promise<void> {
  await store.commit({
    newJobs: [],
    jobs: [],
    newLeases: [],
    leases: [],
    providers: [],
    results: [],
    failures: [],
    shares: [],
    lanes: [],
    rounds: [],
    journal: [],
    meta: {
      [META.installationSeed]: toHex(random()),
      [META.policy]: JSON.stringify(policy),
      [META.preset]: preset,
      [META.beat]: String(clock.now()),
    },
    eraseEnded: null,
    pruneEndedBefore: null,
    pruneResultsBefore: null,
    cutJournalAt: null,
  })
}

/** Checked only at the start. If the clock goes back while the engine runs, engine time stands still. */
function refuseFuture({ meta }: Snapshot, wallMs: number): void {
  const beat = Number(meta[META.beat] ?? wallMs)
  if (beat <= wallMs + AHEAD_MAX_MS) return
  throw new FairleadError(
    'StoreUnavailable',
    `the store was last written ${Math.round((beat - wallMs) / 1_000)} s in the future; set the clock right and start again; if it is right now, fairlead doctor --fix-clock helps the store`,
    { beat, now: wallMs },
  )
}
