import { FairleadError, fromHex, type JobId, type Market, taskId, toHex } from '@fairlead/core'
import {
  type AcceptedRequest,
  acceptRequest,
  duplicateOf,
  invariant,
  sessionFacts,
} from '@fairlead/core/internal'
import type { EnqueueCommand, EnqueueRequest, KnownJob } from './command.ts'
import type { DependencyFacts } from './dependency-facts.ts'
import type { KnownKeys } from './known-keys.ts'
import type { Sealer } from './sealer.ts'

/** A new job to enqueue. */
export interface Accepted {
  readonly command: EnqueueCommand
  /** The payload in the clear. */
  readonly payload: Uint8Array
  /** Null if the engine made the key for a request without one: no caller can repeat it. */
  readonly key: string | null
}

/** A new job, or the id of the job that this caller already enqueued under the same key. */
export type Acceptance =
  | Accepted
  | { readonly known: JobId }
  /** The live job that has the dedupe key of the request. */
  | { readonly duplicateOf: JobId }

/**
 * Checks a request, derives its ids, and finds out if it is new. The same key with the same payload returns the
 * first job. The same key with another payload is a conflict (ENQUEUE-6).
 */
export function acceptEnqueue(
  asked: EnqueueRequest,
  {
    market,
    nowMs,
    keys,
    dependencies,
    sealer,
  }: {
    readonly market: Pick<Market, 'policy' | 'dedupe' | 'jobs'>
    readonly nowMs: number
    readonly keys: KnownKeys
    readonly dependencies: DependencyFacts
    readonly sealer: Sealer
  },
): Acceptance {
  const { policy } = market
  const { txHash, caller, tier, isOperator = false, enqueueBlock = null } = asked
  // A key that was not looked up is not in the tables.
  const before = asked.before === 'unknown' ? null : asked.before
  const accepted = acceptRequest(asked.request, policy, {
    caller,
    chainId: policy.chain.id,
    enqueueHeight: enqueueBlock ?? heightAt(nowMs),
    nowMs,
    txHash,
  })
  const isFromChain = enqueueBlock !== null
  const request = isFromChain ? { ...accepted, txHash: accepted.jobId } : accepted
  const key = typeof request.txHash === 'string' ? `${caller}${request.txHash}` : null
  const known = key === null ? undefined : (before ?? keys.get(key))
  if (known !== undefined) {
    if (isSameRequest(known, request)) return { known: known.id }
    throw new FairleadError(
      'IdempotencyConflict',
      'idempotency_key: it was used before for a request with another payload; use a key of its own',
      { field: 'idempotency_key', jobId: known.id },
    )
  }
  const { options, demand } = request
  const scope = { caller, kind: request.kind, model: demand.model }
  const duplicate = duplicateOf(market, scope, options?.dedupeKey)
  if (duplicate !== undefined) return { duplicateOf: duplicate.id }
  const ids = options?.dependsOn
  const completed = ids === undefined ? null : dependencies.completed(ids, asked)
  const origin = isFromChain ? { ...asked.origin, txHash: hexOf(accepted.txHash) } : asked.origin
  const { kind, jobId, payload: fields, payloadCbor: payload } = request
  if (kind !== 'registration') {
    const command = { type: 'enqueue', request, tier, origin, session: null, completed } as const
    return { command, payload, key }
  }
  const session = sessionFacts(fields, isOperator)
  const sealed = { ...request, payloadCbor: sealer.payload(payload, jobId) }
  const command = { type: 'enqueue', request: sealed, tier, origin, session, completed } as const
  return { command, payload, key }
}

/**
 * The clock's second stands in for the height where there is no chain. It is cached: to make a bigint costs more
 * than to compare numbers.
 */
function heightAt(nowMs: number): bigint {
  const secs = Math.floor(nowMs / 1_000)
  if (secs !== lastHeight.secs) lastHeight = { secs, height: BigInt(secs) }
  return lastHeight.height
}

let lastHeight = { secs: 0, height: 0n }

/**
 * True if the request equals the known job. If the stored payload was erased, the ids are compared, since an id
 * covers the payload (ID-1).
 */
function isSameRequest({ id, payload, erased }: KnownJob, request: AcceptedRequest): boolean {
  if (erased === undefined) return Buffer.compare(payload, request.payloadCbor) === 0
  const { caller, txHash, payloadCbor } = request
  const callerBytes = fromHex(caller)
  const txBytes = typeof txHash === 'string' ? fromHex(txHash) : txHash
  invariant(callerBytes !== null && txBytes !== null, 'ids were checked when they came in')
  return id === taskId({ ...erased, txHash: txBytes, caller: callerBytes, payloadCbor })
}

function hexOf(id: string | Uint8Array): string {
  return typeof id === 'string' ? id : toHex(id)
}
