import {
  type Caller,
  type Clock,
  FairleadError,
  type Job,
  type JobId,
  type Market,
  type Policy,
  parsePolicy,
  toHex,
} from '@fairlead/core'
import {
  acceptRequest,
  isErased,
  isUnreadable,
  readTxHash,
  type StoreReads,
} from '@fairlead/core/internal'
import type { EnqueueRequest, KnownJob, Submission } from './command.ts'
import { DependencyFacts } from './dependency-facts.ts'
import type { KnownKeys } from './known-keys.ts'

interface Key {
  readonly caller: Caller
  readonly txHash: string
  /** Set for a request from a chain, whose key is its id. */
  readonly chainPayload?: Uint8Array
}

/** The sources of the look-ups. */
interface Sources {
  readonly clock: Clock
  readonly market: () => Pick<Market, 'policy' | 'nowMs' | 'jobs'>
  /** Jobs that ended in the open batch. */
  readonly ended: () => readonly Job[]
  readonly keys: Pick<KnownKeys, 'mustLookUp'>
  /** Reads that may lack the newest jobs; their keys are known. */
  readonly read: Pick<StoreReads, 'job' | 'jobsByTx'>
  /** Reads that see everything that happened until now. */
  readonly upToDate: Pick<StoreReads, 'job' | 'result' | 'assignmentsSince'>
}

/** A policy change waits so long for the tables, and every other command waits with it. */
const ANSWER_MS = 1_000

/** The facts that commands need and the state does not have. The tables have them. */
export class LookUps {
  /** About the jobs that new ones depend on. */
  readonly dependencies: DependencyFacts
  readonly #sources: Sources

  constructor(sources: Sources) {
    this.#sources = sources
    const { market, ended, upToDate } = sources
    this.dependencies = new DependencyFacts({ market, ended, job: (id) => upToDate.job(id) })
  }

  /** True if only the tables can tell if a request is new, or how a job ended that it depends on. */
  mustAsk(request: EnqueueRequest): boolean {
    return this.#mustAskKey(request) || this.dependencies.mustAsk(request)
  }

  #mustAskKey(request: EnqueueRequest): boolean {
    if (request.before !== 'unknown') return false
    const key = this.#keyOf(request)
    if (key === null) return false
    // A result may outlive its job, and the filter has the keys of jobs.
    return key.chainPayload !== undefined || this.#sources.keys.mustLookUp(key.caller + key.txHash)
  }

  /**
   * The same requests, each with the job that was enqueued earlier under its key, and how its dependencies ended. One
   * read looks up all keys. A request that need not be asked for stays as it is.
   */
  async earlierJobs(requests: readonly EnqueueRequest[]): Promise<EnqueueRequest[]> {
    const asked = new Map<EnqueueRequest, Key>()
    for (const request of requests) {
      const key = this.#mustAskKey(request) ? this.#keyOf(request) : null
      if (key !== null) asked.set(request, key)
    }
    const { read } = this.#sources
    const known = asked.size === 0 ? [] : await read.jobsByTx([...asked.values()])
    const found = (await Promise.all(known.map((job) => knownJob(job, read)))).values()
    const told = new Map<EnqueueRequest, EnqueueRequest>()
    for (const [request, key] of asked) {
      const before = found.next().value ?? (await this.#keptResult(key))
      told.set(request, { ...request, before })
    }
    return Promise.all(
      requests.map(async (request) => {
        const same = told.get(request) ?? request
        if (!this.dependencies.mustAsk(request)) return same
        return { ...same, told: await this.dependencies.told(request) }
      }),
    )
  }

  /**
   * The commands, each policy change with the assignments that its window needs (QUOTA-4). Memory reaches back as far as
   * the window until then. For a longer window the tables are asked, and a change that they do not answer in time is
   * refused. Null if no policy changes.
   */
  windows(commands: readonly Submission[]): Promise<(Submission | FairleadError)[]> | null {
    if (!commands.some(({ type }) => type === 'setPolicy')) return null
    return this.#askWindows(commands)
  }

  async #askWindows(commands: readonly Submission[]): Promise<(Submission | FairleadError)[]> {
    const { market, upToDate, clock } = this.#sources
    const { policy, nowMs } = market()
    let knownSecs = windowSecs(policy)
    const told: (Submission | FairleadError)[] = []
    for (const command of commands) {
      const secs = command.type === 'setPolicy' ? secsOf(command) : null
      if (command.type !== 'setPolicy') told.push(command)
      else if (secs === null || secs <= knownSecs) told.push({ ...command, assigned: null })
      else {
        try {
          const asked = upToDate.assignmentsSince(nowMs - 1_000 * secs)
          told.push({ ...command, assigned: await answeredInTime(asked, clock) })
        } catch (cause) {
          told.push(unanswered(cause))
        }
      }
      // A change may still be refused when it is applied, so a longer window counts for no later one.
      knownSecs = Math.min(knownSecs, secs ?? knownSecs)
    }
    return told
  }

  /** A job from a chain whose result is still kept: a repeat gets the answer of the first request (ENQUEUE-17). */
  async #keptResult({ txHash, chainPayload: payload }: Key): Promise<KnownJob | null> {
    if (payload === undefined) return null
    const result = await this.#sources.upToDate.result(txHash as JobId)
    return result === null ? null : { id: result.jobId, payload }
  }

  /** Null for a key that will be refused when the command is applied. */
  #keyOf({ request, caller, enqueueBlock = null }: EnqueueRequest): Key | null {
    const { policy, nowMs } = this.#sources.market()
    try {
      if (enqueueBlock !== null) {
        const terms = { caller, chainId: policy.chain.id, enqueueHeight: enqueueBlock, nowMs }
        const { jobId, payloadCbor } = acceptRequest(request, policy, terms)
        return { caller, txHash: jobId, chainPayload: payloadCbor }
      }
      return { caller, txHash: toHex(readTxHash({ ...request }, policy)) }
    } catch {
      return null
    }
  }
}

/** A registration that was partly erased or cannot be decrypted is recognised by its id. */
async function knownJob(
  job: KnownJob | null,
  read: Pick<StoreReads, 'job'>,
): Promise<KnownJob | null> {
  if (job === null || !(isErased(job.payload) || isUnreadable(job.payload))) return job
  const row = await read.job(job.id)
  if (row === null) return null
  const { chainId, enqueueHeight } = row
  return { ...job, erased: { chainId, enqueueHeight } }
}

/** Null for a policy that will be refused when the command is applied. */
function secsOf({ written, preset }: Extract<Submission, { type: 'setPolicy' }>): number | null {
  try {
    return windowSecs(parsePolicy(written, preset))
  } catch {
    return null
  }
}

function windowSecs({ queue: { quotas } }: Policy): number {
  return quotas.requesterWindow?.secs ?? 0
}

async function answeredInTime<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const text = `the tables have not answered for ${ANSWER_MS} ms`
    cancel = clock.wakeAt(clock.now() + ANSWER_MS, () => reject(new Error(text)))
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    cancel()
  }
}

/** The refusal of a command whose facts the tables do not tell. */
export function unanswered(cause: unknown): FairleadError {
  if (cause instanceof FairleadError) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new FairleadError(
    'StoreUnavailable',
    `nothing was changed; try again (${why})`,
    {},
    { cause },
  )
}
