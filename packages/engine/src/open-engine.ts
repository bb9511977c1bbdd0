import { randomBytes } from 'node:crypto'
import {
  type Clock,
  FairleadError,
  type JobLogs,
  type Preset,
  type Store,
  toHex,
} from '@fairlead/core'
import {
  computeClose,
  isUnreadable,
  NO_ROWS,
  type Snapshot,
  usablePolicy,
} from '@fairlead/core/internal'
import { BulkRunner } from './bulk/bulk-runner.ts'
import type { EnqueueCommand } from './commands/command.ts'
import { KnownKeys } from './commands/known-keys.ts'
import { LookUps } from './commands/look-ups.ts'
import { Sealer } from './commands/sealer.ts'
import { Engine } from './engine.ts'
import { type ComputeClose, EpochCloser } from './fund/epoch-closer.ts'
import { LogWriter } from './log/log-writer.ts'
import { recoverState } from './log/recovery.ts'
import { replayRefusal } from './log/replay-refusal.ts'
import { EngineLoop } from './loop/engine-loop.ts'
import { SystemClock } from './loop/system-clock.ts'
import { LogDesk } from './progress/log-desk.ts'
import { MemoryJobLogs } from './progress/memory-job-logs.ts'
import { Projector } from './projector/projector.ts'
import { RetentionRunner } from './retention/retention-runner.ts'
import type { EngineState } from './state/engine-state.ts'
import { META } from './state/meta.ts'
import { VERSION } from './version.ts'
import { Subscribers } from './view/subscribers.ts'
import { Connections } from './workers/connections.ts'
import { PayloadCache } from './workers/payload-cache.ts'

/** A store further ahead of the clock than this was written by another clock. */
export const AHEAD_MAX_MS = 60_000
export interface EngineOptions {
  /** A store given as a promise is closed if the engine cannot be opened. */
  readonly store: Store | Promise<Store>
  /** In written form, used for a new store only. An existing store keeps its policy; `setPolicy` changes it. */
  readonly policy?: unknown
  readonly preset?: Preset
  readonly clock?: Clock
  /** Keeps log lines of attempts; left out, they are in memory only. */
  readonly jobLogs?: JobLogs
  /** Returns 32 random bytes: once for a new store, and for each request without a key. */
  readonly random?: () => Uint8Array
  /**
   * Keys of 32 bytes. The first key encrypts the payloads of registrations; every key decrypts. Without keys
   * payloads are stored in the clear.
   */
  readonly sealKeys?: readonly Uint8Array[]
  /**
   * How often an idle engine stores a sign of life; 1,000 ms if left out. `Infinity` is for a store that nobody opens again,
   * on a clock that leaps.
   */
  readonly beatMs?: number
  /** Computes the batch of an epoch: `threadedClose` in another thread, by default here. */
  readonly computeClose?: ComputeClose
}

/** Opens an engine on a store: recovers the state and continues where the last engine stopped. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const given = await options.store
  try {
    return await openOn(given, options)
  } catch (error) {
    if (options.store instanceof Promise) await given.close().catch(() => undefined)
    throw error
  }
}

async function openOn(store: Store, options: EngineOptions): Promise<Engine> {
  const { clock = new SystemClock(), random = randomIds() } = options
  // An invalid policy is reported even if the store's own policy will be used.
  usablePolicy(options.policy ?? {}, options.preset ?? 'queue')
  const { tables, log } = store
  const sealer = new Sealer(options.sealKeys ?? [])
  let found: Snapshot = await tables.load()
  if (found.meta[META.installationSeed] === undefined) {
    await install(store, options, random, clock)
    found = await tables.load()
  } else refuseFuture(found, clock.now())

  const keys = new KnownKeys()
  const projector = new Projector({
    tables,
    log,
    clock,
    batch: found.batch,
    applied: (batch) => {
      keys.applied(batch)
      loop?.caughtUp()
    },
  })
  let loop: EngineLoop | null = null
  const recover = (snapshot: Snapshot): Promise<EngineState> =>
    recoverState(store, snapshot, {
      applied: ({ command }) => {
        const enqueued = command.type === 'fireSchedule' ? command.enqueue : command
        if (enqueued === null || !('request' in enqueued)) return
        const { request } = enqueued as EnqueueCommand
        const { caller, txHash, jobId: id, payloadCbor, chainId, enqueueHeight } = request
        // A key that the engine made is asked for by nobody. The tables may lack the others for long.
        if (typeof txHash !== 'string') return
        const payload = sealer.openedPayload(payloadCbor)
        const erased = isUnreadable(payload) ? { erased: { chainId, enqueueHeight } } : {}
        keys.add(`${caller}${txHash}`, { id, payload, ...erased })
      },
      replayed: (state, batch) => {
        keys.handed(batch)
        projector.replayed(state, batch)
      },
    })
  let state: EngineState
  try {
    state = await recover(found)
    // The beat of the tables was checked before; the log may go further than the tables.
    refuseFuture({ meta: { [META.beat]: String(state.market.nowMs) } }, clock.now())
    projector.continueWith(state)
    if (found.meta[META.version] !== VERSION) {
      // From now on the log is written by this version, and the tables say so before its first record.
      await projector.sync()
      await tables.apply({ ...NO_ROWS, meta: { [META.version]: VERSION } }, log.end.batch)
      await tables.sync()
    }
  } catch (error) {
    // Whoever opens the store again loads its tables. Nobody else may write to them by then.
    await projector.stop()
    throw replayRefusal(error, found)
  }

  const connections = new Connections()
  const read = sealer.opened(projector.read)
  const fast = sealer.opened(tables.read)
  const payloads = new PayloadCache(fast, read)
  const subscribers = new Subscribers(state.journalSeq)
  const opened: EngineLoop = new EngineLoop({
    clock,
    writer: (refused) => new LogWriter({ log, clock, refused }),
    projector,
    keys,
    sealer,
    state,
    beatMs: options.beatMs,
    recover: async () => {
      await projector.atRest()
      payloads.clear()
      const recovered = await recover(await tables.load())
      projector.continueWith(recovered)
      return recovered
    },
    accepted: (seq, payload) => payloads.add(seq, payload),
    present: () => connections.present(),
    welcome: (current) => {
      current.welcome((providerId, workerId) => connections.sessionOf(providerId, workerId))
    },
    lookUps: new LookUps({
      clock,
      market: () => opened.state.market,
      ended: () => opened.state.ended,
      keys,
      read: fast,
      upToDate: {
        job: async (id) => (await projector.whole()).job(id),
        result: async (id) => sealer.opened(await projector.whole()).result(id),
        assignmentsSince: async (at) => (await projector.whole()).assignmentsSince(at),
      },
    }),
    deliver: (outcome) => {
      // Before anybody hears that an attempt has ended.
      logs.ended(outcome.journal)
      subscribers.tell(outcome.journal)
      const { state: current } = opened
      connections.deliver(outcome, {
        nowMs: () => opened.state.market.nowMs,
        payloads,
        clock,
        withdraw: (leaseId) => opened.submit({ type: 'withdraw', leaseId }),
        isCurrent: () => opened.state === current,
      })
      payloads.forget(outcome.ended)
      closer.look()
      retention.look()
    },
  })
  loop = opened
  const closer = new EpochCloser({
    clock,
    state: () => opened.state,
    submit: (command) => opened.submit(command),
    newestEntry: async () => {
      const { lastSeq } = subscribers
      return lastSeq === 0 ? null : ((await read.journal(lastSeq - 1, 1))[0] ?? null)
    },
    compute: options.computeClose ?? computeClose,
  })
  closer.look()
  const retention = new RetentionRunner({ loop: opened, read, clock })
  retention.look()
  // In the background: until then keys are looked up in the tables.
  keys.filter.fill(tables, () => opened.isClosed).catch(() => undefined)
  const runner = new BulkRunner({ loop: opened, read, clock })
  runner.start()
  const jobLogs = options.jobLogs ?? new MemoryJobLogs()
  const logs = new LogDesk(jobLogs, clock, async (id) => (await read.job(id)) === null)
  const parts = { loop: opened, projector, store, read, random, clock, runner, logs }
  return new Engine({ ...parts, subscribers, connections, closer, retention })
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
  { tables }: Store,
  { policy = {}, preset = 'queue' }: EngineOptions,
  random: () => Uint8Array,
  clock: Clock,
): Promise<void> {
  const meta = {
    [META.installationSeed]: toHex(random()),
    [META.policy]: JSON.stringify(policy),
    [META.preset]: preset,
    [META.version]: VERSION,
    [META.beat]: String(clock.now()),
  }
  await tables.apply({ ...NO_ROWS, meta }, 0)
  await tables.sync()
}

/** Checked only at the start. If the clock goes back while the engine runs, engine time stands still. */
function refuseFuture({ meta }: Pick<Snapshot, 'meta'>, wallMs: number): void {
  const beat = Number(meta[META.beat] ?? wallMs)
  if (beat <= wallMs + AHEAD_MAX_MS) return
  throw new FairleadError(
    'StoreUnavailable',
    `the store was last written ${Math.round((beat - wallMs) / 1_000)} s in the future; set the clock right and start again; if it is right now, fairlead doctor --fix-clock helps the store`,
    { beat, now: wallMs },
  )
}
