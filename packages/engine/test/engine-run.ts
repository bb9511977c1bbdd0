import {
  type AuditEntry,
  FairleadError,
  type LeaseId,
  type ProviderId,
  type Store,
  taggedHash,
  type WorkerId,
} from '@fairlead/core'
import { invariant, type StoreReads } from '@fairlead/core/internal'
import { type Engine, openEngine, type Submission } from '@fairlead/engine'
import { stateHash } from '@fairlead/testkit'
import { expect } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { SHORT, type Turn } from './trace.ts'
import { WatchedClock, WatchedStore } from './watched-store.ts'

/** What one life of an engine leaves behind for the next. */
export interface Disk {
  /** For the next life. */
  open(): Promise<Store>
  /** The next life finds what is there now, whatever this one still does. */
  cutOff?(): void
}

/** The state of an engine after each of its batches. */
export type AfterBatch = 'goes on' | 'is closed' | 'is killed'

/** All that can be seen of a run from outside. */
export interface Seen {
  /** Of all rows, after each batch. */
  readonly hashes: string[]
  /** In the order in which they were given. */
  readonly leases: LeaseId[]
  readonly answers: string[]
  /** Workers and the leases that they were offered. */
  readonly offers: string[]
  /** In the end. */
  rows: Awaited<ReturnType<StoreReads['everything']>>
}

/** Gives the next turn, undefined after the last one. */
export type NextTurn = (store: Store) => Promise<Turn | undefined>

/** Two seconds before the minute in which ended jobs are looked through. */
export const RUN_START = 1_760_000_038_000

const POLICY = {
  ...SHORT,
  registry: { ...SHORT.registry, cooldown_after: 3 },
  queue: {
    ...SHORT.queue,
    // A round that finds nothing to do is one more restart.
    dispatch_interval_ms: 1_000,
    worker_lost_ms: 800,
    // Soon enough to be deleted in the first minute.
    ttl: { ...SHORT.queue.ttl, gc_horizon_secs: 1 },
    quotas: { ...SHORT.queue.quotas, requester_window: { jobs: 4, secs: 1 } },
  },
}

/**
 * Runs turns on an engine as `openEngine` gives it: its loop, its timers, and workers with sessions. After each
 * batch it goes on; or it is closed or killed, and another one is opened on what is stored, at the same time
 * of the clock.
 *
 * A restart cuts every connection (WORKER-7). For all else to be the same, the workers of an engine that goes
 * on leave after each batch, too. They come back with whatever happens next and in the same turn, be it calls
 * or a timer of the engine: if they came back alone, that would be a batch, and they would be gone again.
 */
export function runEngine(disk: Disk, after: AfterBatch, nextTurn: NextTurn): Promise<Seen> {
  return new EngineRun(disk, after).through(nextTurn)
}

/** A worker that connects again whenever it was cut off. */
interface Member {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
  readonly slots: number
  /** What it says that it has, the next time; later on it does not say. */
  holds: readonly LeaseId[] | null
}

interface Life {
  readonly engine: Engine
  readonly store: WatchedStore
}

class EngineRun {
  readonly #disk: Disk
  readonly #after: AfterBatch
  readonly #clock = new WatchedClock(RUN_START)
  readonly #seen: Seen = { hashes: [], leases: [], answers: [], offers: [], rows: [] }
  readonly #crew = new Map<string, Member>()
  /** Those of the crew that are connected. */
  #here: Promise<ManualWorker>[] = []
  #life: Life | null = null
  /** Batches that were not looked at yet. */
  #batches = 0
  #drawn = 0

  constructor(disk: Disk, after: AfterBatch) {
    this.#disk = disk
    this.#after = after
  }

  async through(nextTurn: NextTurn): Promise<Seen> {
    this.#life = await this.#open()
    await this.#clock.advance(0)
    await this.#afterBatch()
    const next = () => nextTurn(this.#now.store)
    for (let turn = await next(); turn !== undefined; turn = await next()) await this.#take(turn)
    this.#seen.rows = await (await this.#caughtUp()).read.everything()
    this.#seen.leases.push(...leasesOf(this.#seen.rows))
    await this.#now.engine.close()
    return this.#seen
  }

  get #now(): Life {
    invariant(this.#life !== null, 'it was opened')
    return this.#life
  }

  async #open(): Promise<Life> {
    const store = new WatchedStore(await this.#disk.open(), () => {
      this.#batches++
      if (this.#after === 'is killed') this.#disk.cutOff?.()
    })
    this.#clock.store = store
    // One source for all lives.
    const random = () => taggedHash('random', ++this.#drawn)
    const engine = await openEngine({ store, clock: this.#clock, policy: POLICY, random })
    return { engine, store }
  }

  async #take({ at, commands }: Turn): Promise<void> {
    await this.#wait(at)
    const calls = commands.map((command) => answerOf(this.#now.engine, command))
    for (const command of commands) this.#change(command)
    this.#comeBack()
    this.#seen.answers.push(...(await Promise.all(calls)))
    await this.#clock.settle()
    await this.#afterBatch()
  }

  /** Lets the engine do what it does by itself until then. */
  async #wait(until: number): Promise<void> {
    const clock = this.#clock
    while (clock.nextWakeAt <= until) {
      clock.beforeWake = () => {
        if (this.#here.length === 0) this.#comeBack()
      }
      await clock.advance(Math.max(0, clock.nextWakeAt - clock.now()))
      clock.beforeWake = () => {}
      await this.#afterBatch()
    }
    await clock.advance(until - clock.now())
  }

  async #afterBatch(): Promise<void> {
    const workers = await Promise.all(this.#here.splice(0))
    if (this.#after === 'goes on') {
      await this.#hasChanged()
      await Promise.all(workers.map(({ session }) => session.close()))
      await this.#clock.settle()
      await this.#hasChanged()
    } else {
      for (let restarts = 1; await this.#hasChanged(); restarts++) {
        expect(restarts, 'restarts that each lead to the next').toBeLessThanOrEqual(2)
        await this.#restart()
      }
    }
    for (const { id, offers } of workers) {
      // An engine has some payloads at hand and reads others, and which come first is not said.
      this.#seen.offers.push(...offers.map(({ leaseId }) => `${id} ${leaseId}`).sort())
    }
  }

  /** True if there was a batch. */
  async #hasChanged(): Promise<boolean> {
    if (this.#batches === 0) return false
    expect(this.#batches, 'batches without a restart').toBe(1)
    this.#batches = 0
    const hash = await stateHash(await this.#caughtUp())
    this.#seen.hashes.push(hash)
    return true
  }

  /** The store, once the rows of all batches have come. */
  async #caughtUp(): Promise<WatchedStore> {
    const { engine, store } = this.#now
    await engine.listJobs({ limit: 1 })
    return store
  }

  /** The next one has some time to say who is gone, which is a batch as well. */
  async #restart(): Promise<void> {
    const { engine, store } = this.#now
    // Nobody sees what an engine does after it was killed.
    if (this.#after === 'is killed') store.onAppend = () => {}
    await engine.close()
    this.#life = await this.#open()
    await this.#clock.advance(0)
  }

  /** Who of the crew comes back the next time, and how. */
  #change(command: Submission): void {
    if (command.type === 'connectWorker') {
      const { providerId, workerId, slots, holds } = command
      this.#crew.set(keyOf(command), { providerId, workerId, slots, holds })
    } else if (command.type === 'setWorkerSlots') {
      const member = this.#crew.get(keyOf(command))
      if (member !== undefined) {
        this.#crew.set(keyOf(command), { ...member, slots: command.slots })
      }
    } else if (command.type === 'disconnectWorker') this.#crew.delete(keyOf(command))
  }

  /** In the order in which a restarted engine sees them off. */
  #comeBack(): void {
    const members = [...this.#crew].sort(([a], [b]) => (a < b ? -1 : 1))
    this.#here = members.map(([, member]) => {
      const { providerId, workerId: id, slots, holds } = member
      member.holds = null
      return ManualWorker.connect(this.#now.engine, providerId, { id, slots, holds })
    })
  }
}

/** The leases that were given, in order. */
function leasesOf(rows: Seen['rows']): LeaseId[] {
  const entries = rows.flatMap(([table, row]) => (table === 'journal' ? [row] : []))
  return entries.flatMap(({ action, details }) =>
    action === 'jobAssigned' ? [(details as AuditEntry['details'])['leaseId'] as LeaseId] : [],
  )
}

function keyOf({ providerId, workerId }: Pick<Member, 'providerId' | 'workerId'>): string {
  return `${providerId} ${workerId}`
}

/** What the caller hears: the answer where there is more to it than that it was done. */
async function answerOf(engine: Engine, command: Submission): Promise<string> {
  try {
    const answer = await call(engine, command)
    const isTold = ['enqueue', 'renew'].includes(command.type) || command.type.endsWith('Limits')
    return isTold ? JSON.stringify(answer) : 'ok'
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return error.code
    throw error
  }
}

/** Rounds are the engine's own, and workers come and go by other ways. */
function call(engine: Engine, command: Submission): Promise<unknown> | null {
  switch (command.type) {
    case 'enqueue':
      return engine.enqueue(command.request, command, command.origin)
    case 'cancel':
      return engine.cancel(command.jobId, command.by)
    case 'ack':
    case 'renew':
    case 'decline':
    case 'release':
      return engine[command.type](command)
    case 'complete': {
      const { actualUnits, actualTokens } = command
      const actual = {
        actualUnits: actualUnits ?? undefined,
        actualTokens: actualTokens ?? undefined,
      }
      const nothing = { output: undefined, contentType: undefined, meta: undefined }
      return engine.complete({ ...command, ...nothing, ...actual })
    }
    case 'fail':
      return engine.fail(command)
    case 'registerProvider':
      return engine.registerProvider(command.providerId, command.offer, {
        stake: command.stake,
        publicKey: command.publicKey ?? null,
      })
    case 'updateProvider':
      return engine.updateProvider(command.providerId, command.offer, command)
    case 'heartbeat':
      return engine.heartbeat(command.providerId)
    case 'setProviderStatus':
      return engine.setProviderStatus(command.providerId, command.status)
    case 'stake':
      return engine.stake(command.providerId, command.amount, command)
    case 'note':
      return engine.note(command.note)
    case 'noteTokens':
      return engine.noteTokens(command.tokens)
    case 'defineLimit':
      return engine.limiter.define(command.limit as Parameters<typeof engine.limiter.define>[0])
    case 'listLimits':
      return engine.limiter.list()
    case 'reserveLimits':
      return engine.limiter.reserveMany(command.requests)
    case 'completeLimits':
      return engine.limiter.completeMany(command.requests)
    default:
      return null
  }
}
