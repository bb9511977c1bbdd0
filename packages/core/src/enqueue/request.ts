import { hexLength, toHex, utf8, utf8Length, writeHex } from '../encoding/bytes.ts'
import { type CborMap, encodeCborMap } from '../encoding/cbor.ts'
import { sha3 } from '../encoding/hash.ts'
import { type Caller, type JobId, taskId } from '../encoding/ids.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import { compareText } from '../encoding/text.ts'
import { readU64 } from '../encoding/u64.ts'
import { invalidParams, limitExceeded } from '../errors.ts'
import type { JobNeeds } from '../market/job.ts'
import { type JobOptions, OPTION_FIELDS, readOptions } from '../options/job-options.ts'
import type { Policy } from '../policy/policy.ts'
import { type Demand, isKindName, KIND_NAMES, KINDS, type KindName } from './kinds.ts'
import { readPayload } from './payload.ts'

/** A request that was checked and has its id. */
export interface AcceptedRequest {
  readonly kind: KindName
  readonly jobId: JobId
  readonly caller: Caller
  /** The text of a request's `tx_hash`, or the hash of its key. If the engine made the key, its bytes. */
  readonly txHash: string | Uint8Array
  readonly chainId: bigint
  readonly enqueueHeight: bigint
  /** Its bytes may share memory with the request: read them now, not later. */
  readonly payload: CborMap
  readonly payloadCbor: Uint8Array
  readonly sizeBytes: number
  readonly demand: Demand
  readonly maxFee: bigint
  /** Sorted and without repeats, or null for anywhere. */
  readonly regions: readonly string[] | null
  readonly needs: JobNeeds | null
  readonly ttlAbsSecs: number | null
  readonly options: JobOptions | null
}

/** The facts about a request that it does not state itself. */
export interface RequestContext {
  /** The authenticated caller, whatever the request says. */
  readonly caller: Caller
  /** Used if the request leaves out the fields that only a chain has. */
  readonly chainId: bigint
  readonly enqueueHeight: bigint
  /** The time of acceptance; a delay counts from it. */
  readonly nowMs: number
  /** The `tx_hash` that was made for a request without one; null if it has one, or a key. */
  readonly txHash?: Uint8Array | null
}

/**
 * Checks a request in the form of the API and derives its id (ENQUEUE-1). Throws `InvalidParams` or
 * `LimitExceeded` naming the field. It changes and rounds nothing.
 */
export function acceptRequest(
  written: unknown,
  policy: Policy,
  context: RequestContext | null = null,
): AcceptedRequest {
  if (!isPlainObject(written)) throw invalidParams('request', 'an object')
  for (const name in written) {
    if (!REQUEST_FIELDS.has(name)) {
      throw invalidParams(name, `only the fields ${[...REQUEST_FIELDS].join(', ')}`)
    }
  }
  const { kind, max_fee_u64: fee } = written
  if (!isKindName(kind)) throw invalidParams('kind', `one of ${KIND_NAMES.join(', ')}`)
  const row = KINDS[kind]

  // A text that was read as an id is the canonical text of that id.
  const made = context?.txHash ?? null
  const tx = made ?? written['tx_hash']
  const key = written['idempotency_key']
  const given = context === null ? written['caller'] : context.caller
  const caller = given === callerRead ? callerBytes : readCaller(given)
  const txHash = readTxOrKey(tx, key, policy, txHashBytes)
  const chainId = readAmount(fieldOf(written, 'chain_id', context?.chainId), 'chain_id')
  const height = fieldOf(written, 'enqueue_block_height', context?.enqueueHeight)
  const enqueueHeight = readAmount(height, 'enqueue_block_height')
  const maxFee = fee === undefined ? 0n : readAmount(fee, 'max_fee_u64')
  const regions = readRegions(written['regions'], policy.caps.regions)
  const needs = readNeeds(written, kind, policy.caps.needs)
  const ttlAbsSecs = readTtl(written['ttl_abs_secs'])
  const options = readOptions(written, { kind, policy, nowMs: context?.nowMs ?? null })
  const payload = readPayload(written['payload'], row.fields, row.caps(policy))

  const payloadCbor = encodeCborMap(PAYLOAD_KEYS.get(kind) ?? [], payload)
  return {
    kind,
    jobId: taskId({ chainId, enqueueHeight, txHash, caller, payloadCbor }),
    caller: (typeof given === 'string' ? given : toHex(caller)) as Caller,
    txHash: made ?? (typeof tx === 'string' ? tx : toHex(txHash)),
    chainId,
    enqueueHeight,
    payload,
    payloadCbor,
    sizeBytes: payloadCbor.length,
    demand: row.demand(payload),
    maxFee,
    regions,
    needs,
    ttlAbsSecs,
    options,
  }
}

const REQUEST_FIELDS: ReadonlySet<string> = new Set([
  'kind',
  'caller',
  'chain_id',
  'enqueue_block_height',
  'tx_hash',
  'idempotency_key',
  'payload',
  'max_fee_u64',
  'regions',
  'precision',
  'width_hint',
  'gates',
  'ttl_abs_secs',
  ...OPTION_FIELDS,
])

/** In canonical order, as in the table of kinds. */
const PAYLOAD_KEYS = new Map(KIND_NAMES.map((kind) => [kind, Object.keys(KINDS[kind].fields)]))

function fieldOf(written: Record<string, unknown>, name: string, absent: unknown): unknown {
  return absent === undefined || Object.hasOwn(written, name) ? written[name] : absent
}

// These bytes are used until the request has its id, and then overwritten by the next request.
const ID_BYTES = 32
const callerBytes = Buffer.alloc(ID_BYTES)
const txHashBytes = Buffer.alloc(ID_BYTES)
/** The caller whose bytes are in `callerBytes`: consecutive requests often have the same caller. */
let callerRead = ''

function readCaller(written: unknown): Uint8Array {
  callerRead = ''
  const bytes = readId(written, 'caller', callerBytes)
  if (typeof written === 'string') callerRead = written
  return bytes
}

/** Writes the bytes of a hex text into `to`; bytes are returned as given. */
function readId(written: unknown, field: string, to: Uint8Array): Uint8Array {
  if (typeof written === 'string') {
    if (hexLength(written) === ID_BYTES && writeHex(written, to, 0)) return to
  } else if (written instanceof Uint8Array && written.length === ID_BYTES) return written
  throw invalidParams(field, '32 bytes as 0x and 64 lower-case hex digits')
}

/** Outside a chain, the hash of the request's key takes the place of a transaction (ENQUEUE-6). */
export function readTxHash(written: Record<string, unknown>, policy: Policy): Uint8Array {
  const { tx_hash: hash, idempotency_key: key } = written
  return readTxOrKey(hash, key, policy, Buffer.allocUnsafe(ID_BYTES))
}

/** The bytes of a hex hash are written into `to`; the hash of a key gets new memory. */
function readTxOrKey(hash: unknown, key: unknown, policy: Policy, to: Uint8Array): Uint8Array {
  if (key === undefined) return readId(hash, 'tx_hash', to)
  if (hash !== undefined) {
    throw invalidParams('idempotency_key', 'either tx_hash or idempotency_key, not both')
  }
  if (typeof key !== 'string' || key === '' || !key.isWellFormed()) {
    throw invalidParams('idempotency_key', 'text of at least one byte')
  }
  const bytes = utf8Length(key)
  const max = policy.caps.idempotencyKey
  if (bytes > max) throw limitExceeded('idempotency_key', max, bytes)
  if (key !== keyRead) {
    keyRead = key
    keyHash = sha3(utf8(key))
  }
  return keyHash
}

/** A key is mostly hashed twice in a row: to find out if it is known, and for its request. */
let keyRead = ''
let keyHash: Uint8Array = new Uint8Array()

function readAmount(written: unknown, field: string): bigint {
  const value = readU64(written)
  if (value !== null) return value
  throw invalidParams(
    field,
    'a whole number from 0 to 2^64 − 1 (above 2^53 − 1 as a decimal string)',
  )
}

function readRegions(written: unknown, max: number): readonly string[] | null {
  return readNames(written, 'regions', 'a list of one or more region names, or null for any', max)
}

/** The needs that only some kinds can have; null if none are given (ENQUEUE-16). */
function readNeeds(
  { precision, width_hint: width, gates }: Record<string, unknown>,
  kind: KindName,
  max: number,
): JobNeeds | null {
  if (precision == null && width == null && gates == null) return null
  if (precision != null && kind !== 'ai')
    throw invalidParams('precision', 'none; only ai jobs have one')
  if (kind !== 'quantum') {
    if (width != null) throw invalidParams('width_hint', 'none; only quantum jobs have one')
    if (gates != null) throw invalidParams('gates', 'none; only quantum jobs have them')
  }
  const isCount =
    Number.isSafeInteger(width) && (width as number) >= 0 && (width as number) < 2 ** 32
  if (width != null && !isCount)
    throw invalidParams('width_hint', 'a whole number from 0 to 2^32 − 1')
  return {
    precision: readNames(
      typeof precision === 'string' ? [precision] : precision,
      'precision',
      'the name of a precision, or a list of those that will do',
      max,
    ),
    widthHint: (width as number | null | undefined) ?? 0,
    gates: readNames(gates, 'gates', 'a list of one or more names of gates', max),
  }
}

/** Sorted and without repeats; null if none are given. */
function readNames(
  written: unknown,
  field: string,
  expected: string,
  max: number,
): readonly string[] | null {
  if (written === undefined || written === null) return null
  if (!Array.isArray(written) || written.length === 0) throw invalidParams(field, expected)
  if (written.length > max) throw limitExceeded(field, max, written.length)
  const fits = written.every(
    (name) => typeof name === 'string' && name !== '' && name.isWellFormed(),
  )
  if (!fits) throw invalidParams(field, expected)
  return [...new Set(written as string[])].sort(compareText)
}

function readTtl(written: unknown): number | null {
  if (written === undefined || written === null) return null
  if (
    Number.isSafeInteger(written) &&
    (written as number) >= 1 &&
    (written as number) <= TTL_MAX_SECS
  ) {
    return written as number
  }
  throw invalidParams('ttl_abs_secs', `a whole number of seconds from 1 to ${TTL_MAX_SECS}`)
}

/** Ten years: a longer life must be a mistake in the unit. */
const TTL_MAX_SECS = 315_360_000
