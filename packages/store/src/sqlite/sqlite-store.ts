import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { JobRow, Store } from '@fairlead/core'
import {
  type Snapshot,
  type StoreReads,
  TransitMap,
  type WriteBatch,
} from '@fairlead/core/internal'
import { type EncodedBatch, encodeBatch, JOB_AT } from './batch-codec.ts'
import type { KeyParts } from './key-filter.ts'
import { KnownKeys, partsAt, partsOfText } from './known-keys.ts'
import { LogEnd } from './log-end.ts'
import type {
  Overview,
  PackedPayloads,
  Sealed,
  SqliteFile,
  SqliteOptions,
  TimeMove,
} from './sqlite-file.ts'
import { PACE, type Pace } from './table-checkpointer.ts'
import {
  type Answer,
  type Call,
  errorOf,
  type FileCall,
  GIVEN_BATCH,
  OPENED,
  type ThreadData,
} from './thread-calls.ts'
import { shutAtExit, ThreadGate } from './thread-gate.ts'
import { asUnavailable, builtOnRefused, isBuiltOnRefused, unavailable } from './unavailable.ts'

export type { Overview, Sealed, SqliteOptions } from './sqlite-file.ts'

/** A store in a file, which can also be looked at without loading it. */
export interface SqliteStore extends Store {
  overview(): Promise<Overview>
  /** How much of it is encrypted with which key (FILES-3); it reads all payloads and results. */
  sealed(): Promise<Sealed[]>
  /** Times of jobs, leases and results after one become earlier, in a transaction with a batch (CLOCK-1). */
  moveTimes(move: TimeMove, batch: WriteBatch): Promise<void>
  /**
   * Checkpoints what waits in the log into the tables, commits going on meanwhile. What was committed before
   * the call is in the file itself then.
   */
  checkpoint(): Promise<void>
}

/** The built file, also where the tests run the sources. */
const THREAD = new URL('../../dist/sqlite/store-thread.js', import.meta.url)

/** So long a batch that was written here waits for the other thread's word, if the disk was quicker. */
const CHECK_WAIT_MS = 0.5
/**
 * A disk that takes longer than this is not waited for again before so many times as long have passed: a fifth of
 * its time, at the most, the thread of the giver stands still. To hand a batch over costs more where the machine is slow, too.
 */
const SLOW_MS = 2
const SLOW_TIMES = 4

/** Jobs in one answer while loading. */
const LOAD_PAGE = 5_000

/**
 * Opens a store, and makes one where no file is. Only one process at a time can (STORE-3). The pace is for
 * tests that want rows in their tables sooner.
 */
export async function openSqliteStore(
  path: string,
  options: SqliteOptions = {},
  pace: Partial<Pace> = {},
): Promise<SqliteStore> {
  // An absolute path is never taken for a URI.
  const store = new ThreadedStore(resolve(path), options, { ...PACE, ...pace })
  try {
    await store.opened
    return store
  } catch (error) {
    await store.end()
    throw error
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * The store as its user has it. The connection is on a thread of its own: there is more to a commit
 * than waiting for the disk, and while one is written the engine prepares the next.
 */
class ThreadedStore implements SqliteStore {
  readonly opened: Promise<void>
  readonly read: StoreReads
  readonly #path: string
  readonly #thread: Worker
  readonly #ended: Promise<void>
  readonly #waiting = new TransitMap<number, Waiting>()
  readonly #keys = new KnownKeys((afterSeq, limit) => this.#call('jobKeys', afterSeq, limit))
  readonly #logEnd = new LogEnd()
  /** Until then the disk is too slow to wait for. */
  #slowUntil = 0
  #lastId = OPENED
  #refusalsHeard = 0
  #isRefusing = false
  #closed: Promise<void> | null = null

  constructor(path: string, options: SqliteOptions, pace: Pace) {
    this.#path = path
    const gate = new ThreadGate()
    const forget = shutAtExit(gate)
    const workerData: ThreadData = {
      path,
      options,
      pace,
      gate: gate.memory,
      logEnd: this.#logEnd.memory,
    }
    this.#thread = new Worker(THREAD, { workerData, execArgv: [] })
    this.#thread.on('message', (answer: Answer) => this.#hear(answer))
    this.#thread.on('error', (error) => this.#lose(error))
    this.#ended = new Promise((resolve) => {
      this.#thread.on('exit', () => {
        forget()
        this.#lose(new Error('its thread has ended'))
        resolve()
      })
    })
    this.opened = new Promise((resolve, reject) => {
      this.#waiting.set(OPENED, { resolve: () => resolve(), reject })
    })
    const read = <Name extends keyof StoreReads>(name: Name): StoreReads[Name] =>
      ((...args: unknown[]) => this.#call('read', name, args)) as StoreReads[Name]
    this.read = {
      job: read('job'),
      jobsByTx: (keys) => this.#jobsByTx(keys),
      payloads: async (seqs) => unpacked(await this.#call('payloads', seqs)),
      jobs: read('jobs'),
      leases: read('leases'),
      failures: read('failures'),
      lease: read('lease'),
      result: read('result'),
      round: read('round'),
      journal: read('journal'),
      timeline: read('timeline'),
      assignmentsSince: read('assignmentsSince'),
      everything: read('everything'),
    }
  }

  async load(): Promise<Snapshot> {
    const rest = await this.#call('loadAllButJobs')
    const jobs: JobRow[] = []
    for (let page: JobRow[] | null = null; page === null || page.length === LOAD_PAGE; ) {
      page = await this.#call('loadJobs', jobs.at(-1)?.seq ?? 0, LOAD_PAGE)
      for (const row of page) jobs.push(row)
    }
    void this.#keys.begin()
    return { ...rest, jobs }
  }

  /** The thread is asked for keys that may be there, and for no others. */
  async #jobsByTx(keys: Parameters<StoreReads['jobsByTx']>[0]): ReturnType<StoreReads['jobsByTx']> {
    const asked = keys.filter((key) => this.#keys.mayHave(partsOfText(key)))
    if (asked.length === 0 && this.#closed === null) return keys.map(() => null)
    const found = (await this.#call('read', 'jobsByTx', [asked])) as Awaited<
      ReturnType<StoreReads['jobsByTx']>
    >
    const byKey = new Map(asked.map((key, i) => [key, found[i] ?? null]))
    return keys.map((key) => byKey.get(key) ?? null)
  }

  overview(): Promise<Overview> {
    return this.#call('overview')
  }

  sealed(): Promise<Sealed[]> {
    return this.#call('sealed')
  }

  moveTimes(move: TimeMove, batch: WriteBatch): Promise<void> {
    return this.#call('moveTimes', move, encodeBatch(batch).bytes)
  }

  checkpoint(): Promise<void> {
    return this.#call('checkpoint')
  }

  async commit(batch: WriteBatch): Promise<void> {
    const { bytes, jobIds } = this.#encode(batch)
    for (const at of jobIds) this.#keys.add(keyAt(bytes, at))
    try {
      await (this.#isAlone(batch, bytes)
        ? this.#commitAlone(bytes)
        : this.#call('commit', bytes, this.#refusalsHeard))
    } catch (error) {
      if (!isBuiltOnRefused(error)) this.#refusalsHeard++
      throw error
    }
  }

  /** Whether a batch is small, nobody else waits for the thread, and the disk is quick; then the log is held. */
  #isAlone(batch: WriteBatch, bytes: Uint8Array): boolean {
    if (this.#waiting.size > 0 || this.#closed !== null) return false
    const { pruneEndedBefore, pruneResultsBefore, eraseEnded, cutJournalAt } = batch
    // These need not come into the log.
    if (pruneEndedBefore !== null || pruneResultsBefore !== null) return false
    if (eraseEnded !== null || cutJournalAt !== null) return false
    if (performance.now() < this.#slowUntil || !this.#logEnd.tryHold()) return false
    if (this.#logEnd.hasRoom(bytes)) return true
    this.#logEnd.letGo()
    return false
  }

  /** Writes a batch here and now, while the thread looks at it (STORE-17). */
  async #commitAlone(bytes: Uint8Array): Promise<void> {
    const log = this.#logEnd
    const number = log.current.last + 1
    const began = performance.now()
    log.give(bytes, number)
    this.#thread.postMessage(GIVEN_BATCH)
    let trouble: unknown = null
    try {
      log.append(bytes)
    } catch (error) {
      trouble = error
    }
    log.letGo()
    const now = performance.now()
    const tookMs = now - began
    if (tookMs > SLOW_MS) this.#slowUntil = now + SLOW_TIMES * tookMs
    if (trouble === null && log.awaitChecked(number, CHECK_WAIT_MS)) return
    try {
      await this.#call('judgeGiven')
    } catch (error) {
      throw trouble === null ? error : asUnavailable(this.#path, trouble)
    }
  }

  /** What cannot be encoded is refused here, and with it what is given before that is heard (STORE-2). */
  #encode(batch: WriteBatch): EncodedBatch {
    if (this.#isRefusing) throw builtOnRefused(this.#path)
    try {
      return encodeBatch(batch)
    } catch (error) {
      this.#isRefusing = true
      queueMicrotask(() => {
        this.#isRefusing = false
      })
      throw asUnavailable(this.#path, error)
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeNow()
    return this.#closed
  }

  async #closeNow(): Promise<void> {
    try {
      await this.#call('close')
    } finally {
      await this.end()
    }
  }

  /** Once the file is closed, or could not be opened, the thread ends by itself. */
  async end(): Promise<void> {
    this.#thread.ref()
    await this.#ended
  }

  #call<Name extends FileCall>(
    name: Name,
    ...args: Parameters<SqliteFile[Name]>
  ): Promise<Awaited<ReturnType<SqliteFile[Name]>>> {
    if (this.#closed !== null) {
      const refusal = unavailable(this.#path, 'closed', 'it is closed; open it again')
      return Promise.reject(refusal)
    }
    const call: Call = { id: ++this.#lastId, name, args }
    // The bytes of a batch change hands; they are not copied.
    const moved = name === 'commit' ? [(args[0] as Uint8Array).buffer as ArrayBuffer] : []
    if (this.#waiting.size === 0) this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.id, { resolve: resolve as Waiting['resolve'], reject })
      this.#thread.postMessage(call, moved)
    })
  }

  #hear({ id, value, refusal }: Answer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    this.#rest()
    if (refusal === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(refusal))
  }

  /** An open store alone keeps no process alive; a call that is under way does. */
  #rest(): void {
    if (this.#waiting.size === 0) this.#thread.unref()
  }

  #lose(cause: Error): void {
    for (const { reject } of this.#waiting.values()) reject(asUnavailable(this.#path, cause))
    this.#waiting.clear()
    this.#closed ??= Promise.resolve()
  }
}

/** The key of a new job, of which the id stands at a place. */
function keyAt(bytes: Uint8Array, idAt: number): KeyParts {
  const row = idAt - JOB_AT.id
  return partsAt(bytes, row + JOB_AT.caller, row + JOB_AT.txHash)
}

function unpacked({ bytes, lengths }: PackedPayloads): (Uint8Array | null)[] {
  let at = 0
  return lengths.map((length) => {
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  })
}
