import { invariant } from '../errors.ts'
import { fromHex } from './bytes.ts'
import { hashInput, sha256Hex, taggedHash, taggedHashHex } from './hash.ts'

declare const brand: unique symbol
type Id<Name extends string> = string & { readonly [brand]: Name }

/** `0x` and 64 hex digits: the `task_id` of the job. */
export type JobId = Id<'job'>
/** `0x` and 64 hex digits. */
export type LeaseId = Id<'lease'>
/** `provider:` and a name of ASCII letters, digits and `._-`. */
export type ProviderId = Id<'provider'>
/** 1 to 128 ASCII letters, digits and `._:-`. It names one process that serves a provider. */
export type WorkerId = Id<'worker'>
/** `0x` and 64 hex digits. It names the requester of the work. */
export type Caller = Id<'caller'>
/** 32 bytes as `0x` hex: the source of every random choice of a round. */
export type Seed = Id<'seed'>

/** The id of a job: equal inputs give equal ids everywhere (ID-1). */
export function taskId(request: {
  readonly chainId: number | bigint
  readonly enqueueHeight: number | bigint
  readonly txHash: Uint8Array
  readonly caller: Uint8Array
  readonly payloadCbor: Uint8Array
}): JobId {
  const { chainId, enqueueHeight, txHash, caller, payloadCbor } = request
  invariant(txHash.length === 32 && caller.length === 32, 'ids are of 32 bytes')
  return hashInput()
    .text('AICF_TASK_ID')
    .rawInt(chainId)
    .rawInt(enqueueHeight)
    .raw(txHash)
    .raw(caller)
    .raw(payloadCbor)
    .hex() as JobId
}

/** The seed of one round (ID-2). */
export function matchSeed(round: {
  readonly chainId: number | bigint
  readonly epochId: number | bigint
  readonly height: number | bigint
  readonly beacon: Uint8Array
}): Seed {
  const { chainId, epochId, height, beacon } = round
  return taggedHashHex('AICF|match', chainId, epochId, height, beacon) as Seed
}

/** The beacon of a round if no chain provides one (ID-2). */
export function localBeacon(installationSeed: Uint8Array, height: number | bigint): Uint8Array {
  return taggedHash('AICF|beacon', installationSeed, height)
}

/** The id of one attempt (ID-3). */
export function leaseId(attempt: {
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly attempt: number
  readonly seed: Seed
}): LeaseId {
  const { jobId, providerId, seed } = attempt
  return hashInput()
    .text('AICF|lease')
    .id(jobId)
    .text(providerId)
    .int(attempt.attempt)
    .idAlike(seed)
    .hex() as LeaseId
}

/** Decides between jobs that compete for the same provider; the smaller hash wins (ID-4). */
export function pairHash(jobId: JobId, providerId: ProviderId, seed: Seed): string {
  return hashInput().text('AICF|pair').id(jobId).text(providerId).id(seed).hex()
}

/** The source of a retry's jitter (ID-5). */
export function retryHash(jobId: JobId, retries: number): Uint8Array {
  return hashInput().text('AICF|retry').id(jobId).int(retries).digest()
}

/** The id of a provider that registers with its own key (ID-6). */
export function providerIdOf(publicKey: Uint8Array): ProviderId {
  return `provider:${taggedHashHex('AICF|prov', publicKey).slice(2, 42)}` as ProviderId
}

/** True if an operator may register a provider under this name (ID-6). */
export function isProviderName(name: string): name is ProviderId {
  return /^provider:[a-z0-9._-]{1,64}$/.test(name)
}

/** True if a worker may have this name (WORKER-1). */
export function isWorkerName(name: unknown): name is WorkerId {
  return typeof name === 'string' && /^[A-Za-z0-9._:-]{1,128}$/.test(name)
}

/** Identifies a proof as used for one task in one block (ID-7). */
export function claimKey(claim: {
  readonly taskId: JobId
  readonly height: number | bigint
  readonly nullifier: Uint8Array
}): string {
  return hashInput()
    .text('AICF|claim')
    .id(claim.taskId)
    .int(claim.height)
    .bytes(claim.nullifier)
    .hex()
}

/** Names the work that a proof proves. Work that is signed twice has the same nullifier (ID-11). */
export function nullifierOf(work: {
  readonly typeId: number
  readonly chainId: number | bigint
  readonly taskId: JobId
  readonly leaseId: LeaseId
}): string {
  return hashInput()
    .text('AICF|nullifier')
    .int(work.typeId)
    .int(work.chainId)
    .id(work.taskId)
    .id(work.leaseId)
    .hex()
}

/** Names a chain of certificates that was presented for a class (ID-12). */
export function attestationHash(className: string, chain: readonly Uint8Array[]): string {
  return taggedHashHex('AICF|attestation', className, ...chain)
}

/** The caller that stands for a token's text subject (ID-8). */
export function callerOf(subject: string): Caller {
  return taggedHashHex('AICF|caller', subject) as Caller
}

/** The bytes of an id that was checked on arrival. */
export function idBytes(id: string): Uint8Array {
  const bytes = fromHex(id)
  invariant(bytes !== null, 'an id is 0x and lower-case hex')
  return bytes
}

/** The key that tells a platform that several attempts are one registration, as hex (ID-10). */
export function idempotencyKey(jobId: JobId): string {
  return sha256Hex(`fairlead|${jobId.slice(2)}`)
}
