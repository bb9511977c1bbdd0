import {
  type Caller,
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
import type { KnownKeys } from './known-keys.ts'

interface Key {
  readonly caller: Caller
  readonly txHash: string
  /** Set for a request from a chain, whose key is its id. */
  readonly chainPayload?: Uint8Array
}

/** The sources of the lookups. */
interface Sources {
  readonly market: Pick<Market, 'policy' | 'nowMs'>
  readonly keys: Pick<KnownKeys, 'mustLookUp'>
  /** Reads that may lack the newest jobs; their keys are known. */
  readonly read: Pick<StoreReads, 'job' | 'jobsByTx'>
  /** Reads that see everything that happened until now. */
  readonly upToDate: Pick<StoreReads, 'result' | 'assignmentsSince'>
}

/**
 * Fills in the facts that commands need and the state does not have. These are the job that was enqueued earlier
 * under the same key, and the assignments within a longer window. One read looks up all keys of a batch. Null if
 * there is nothing to look up.
 */
export function prepareCommands(
  commands: readonly Submission[],
  sources: Sources,
): Promise<readonly Submission[]> | null {
  const asked = new Map<Submission, Key>()
  for (const command of commands) {
    if (command.type !== 'enqueue' || command.before !== 'unknown') continue
    const key = keyOf(command, sources.market.policy)
    if (key === null) continue
    // A result may outlive its job, and the filter has the keys of jobs.
    const mayHaveResult = key.chainPayload !== undefined
    if (mayHaveResult || sources.keys.mustLookUp(key.caller + key.txHash)) asked.set(command, key)
  }
  const isPolicySet = commands.some(({ type }) => type === 'setPolicy')
  return asked.size === 0 && !isPolicySet ? null : lookUp(commands, asked, sources)
}

async function lookUp(
  commands: readonly Submission[],
  asked: ReadonlyMap<Submission, Key>,
  sources: Sources,
): Promise<readonly Submission[]> {
  const keys = [...asked.values()]
  const known = keys.length === 0 ? [] : await sources.read.jobsByTx(keys)
  const found = (await Promise.all(known.map((job) => knownJob(job, sources)))).values()
  const prepared = await lookUpAssigned(commands, sources)
  for (const [command, key] of asked) {
    const before = found.next().value ?? (await keptResult(key, sources))
    prepared.set(command, { ...command, before } as Submission)
  }
  return commands.map((command) => prepared.get(command) ?? command)
}

/** A job from a chain whose result is still kept: a repeat gets the answer of the first request (ENQUEUE-17). */
async function keptResult(key: Key, { upToDate }: Sources): Promise<KnownJob | null> {
  const { chainPayload: payload } = key
  if (payload === undefined) return null
  const result = await upToDate.result(key.txHash as JobId)
  return result === null ? null : { id: result.jobId, payload }
}

/** A registration that was partly erased or cannot be decrypted is recognised by its id. */
async function knownJob(job: KnownJob | null, { read }: Sources): Promise<KnownJob | null> {
  if (job === null || !(isErased(job.payload) || isUnreadable(job.payload))) return job
  const row = await read.job(job.id)
  if (row === null) return null
  const { chainId, enqueueHeight } = row
  return { ...job, erased: { chainId, enqueueHeight } }
}

/** Null for a key that will be refused when the command is applied. */
function keyOf(
  { request, caller, enqueueBlock = null }: EnqueueRequest,
  policy: Policy,
): Key | null {
  try {
    if (enqueueBlock !== null) {
      const terms = { caller, chainId: policy.chain.id, enqueueHeight: enqueueBlock }
      const { jobId, payloadCbor } = acceptRequest(request, policy, terms)
      return { caller, txHash: jobId, chainPayload: payloadCbor }
    }
    return { caller, txHash: toHex(readTxHash({ ...request }, policy)) }
  } catch {
    return null
  }
}

/**
 * Adds to each policy change the assignments that its window needs (QUOTA-4). Memory reaches back as far as the
 * current window. For a longer window the tables are asked.
 */
async function lookUpAssigned(
  commands: readonly Submission[],
  { market, upToDate }: Sources,
): Promise<Map<Submission, Submission>> {
  const prepared = new Map<Submission, Submission>()
  let knownSecs = windowSecs(market.policy)
  for (const command of commands) {
    if (command.type !== 'setPolicy') continue
    const secs = secsOf(command)
    if (secs !== null && secs > knownSecs) {
      const assigned = await upToDate.assignmentsSince(market.nowMs - 1_000 * secs)
      prepared.set(command, { ...command, assigned })
    } else prepared.set(command, { ...command, assigned: null })
    knownSecs = secs ?? knownSecs
  }
  return prepared
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
