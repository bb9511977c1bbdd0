import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import {
  type CborMap,
  decodeCbor,
  encodeCbor,
  FairleadError,
  type JobId,
  type LeaseId,
  type ResultRow,
} from '@fairlead/core'
import {
  type Brought,
  type StoreReads,
  sealedIn,
  sealedInResult,
  sealedPayload,
  sealedResult,
  unreadablePayload,
  unreadableResult,
} from '@fairlead/core/internal'

const KEY_BYTES = 32
const KEY_ID_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = KEY_ID_BYTES + NONCE_BYTES

/**
 * Encrypts what registrations have of people, before it becomes part of a command (AUDIT-9): payloads hold personal
 * data, and results hold booking numbers (AUDIT-11). So neither the log nor the tables ever have it in the clear. A
 * sealed value is the id of its key, a nonce, the AES-256-GCM ciphertext and its tag. Place and time of a
 * registration stay readable beside it, also after erasure. A payload's nonce is derived from the key and the job
 * id, and the job id covers the payload, so no nonce is used twice. The first key encrypts; every key decrypts.
 * Without keys nothing is encrypted.
 */
export class Sealer {
  readonly #keys: readonly SealKey[]

  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys.map(sealKey)
  }

  payload(payload: Uint8Array, jobId: JobId): Uint8Array {
    const [key] = this.#keys
    return key === undefined ? payload : sealedPayload(payload, seal(payload, jobId, key))
  }

  /** The nonce covers all sealed bytes, so a result that is reported again with other bytes gets another nonce. */
  result<Result extends Brought>(result: Result, leaseId: LeaseId): Result {
    const [key] = this.#keys
    if (key === undefined) return result
    const { output, meta } = result
    const plain = encodeCbor({ output, meta })
    const about = Buffer.concat([Buffer.from(`result|${leaseId}|`), plain])
    return { ...result, ...sealedResult(result, seal(plain, about, key)) }
  }

  /** Reads that decrypt. A value that cannot be opened is marked as unreadable. */
  opened(read: StoreReads): StoreReads {
    if (this.#keys.length === 0) return read
    return {
      ...read,
      result: async (...args) => this.#openedResult(await read.result(...args)),
      payloads: async (seqs) =>
        (await read.payloads(seqs)).map((payload) => payload && this.openedPayload(payload)),
      jobsByTx: async (keys) =>
        (await read.jobsByTx(keys)).map(
          (found) => found && { ...found, payload: this.openedPayload(found.payload) },
        ),
    }
  }

  /** A payload in the clear, or one that is marked as unreadable. */
  openedPayload(payload: Uint8Array): Uint8Array {
    const sealed = sealedIn(payload)
    return sealed === null ? payload : (this.#open(sealed) ?? unreadablePayload(payload))
  }

  #openedResult(row: ResultRow | null): ResultRow | null {
    const sealed = row?.output == null ? null : sealedInResult(row.output)
    if (row === null || sealed === null) return row
    const opened = this.#open(sealed)
    if (opened === null) return { ...row, ...unreadableResult(row) }
    const { output, meta } = decodeCbor(opened) as CborMap
    return { ...row, output: bytesOrNull(output), meta: bytesOrNull(meta) }
  }

  /** Null if the key is missing or the bytes are damaged. One such row must not fail the read of others (FILES-4). */
  #open(sealed: Uint8Array): Uint8Array | null {
    const id = sealed.subarray(0, KEY_ID_BYTES)
    const key = this.#keys.find((one) => Buffer.compare(one.id, id) === 0)
    if (key === undefined || sealed.length < HEAD_BYTES + TAG_BYTES) return null
    try {
      return open(sealed, key)
    } catch {
      return null
    }
  }
}

/** The id in hex with which every value sealed by this key begins. */
export function sealKeyId(key: Uint8Array): string {
  return Buffer.from(sealKey(key).id).toString('hex')
}

interface SealKey {
  readonly id: Uint8Array
  readonly key: Uint8Array
}

function sealKey(key: Uint8Array): SealKey {
  if (key.length !== KEY_BYTES) {
    throw new FairleadError('InvalidParams', `keys: expected ${KEY_BYTES} bytes each`, {
      field: 'keys',
    })
  }
  const id = createHash('sha256').update('fairlead|seal').update(key).digest()
  return { id: id.subarray(0, KEY_ID_BYTES), key }
}

function bytesOrNull(value: unknown): Uint8Array | null {
  return value instanceof Uint8Array ? value : null
}

/** Two different payloads must never have the same `nonceOf`. */
function seal(payload: Uint8Array, nonceOf: string | Uint8Array, { id, key }: SealKey): Uint8Array {
  const nonce = createHmac('sha256', key).update(nonceOf).digest().subarray(0, NONCE_BYTES)
  const head = Buffer.concat([id, nonce])
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(head)
  return Buffer.concat([head, cipher.update(payload), cipher.final(), cipher.getAuthTag()])
}

function open(sealed: Uint8Array, { key }: SealKey): Uint8Array {
  const nonce = sealed.subarray(KEY_ID_BYTES, HEAD_BYTES)
  const body = sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce)
    .setAAD(sealed.subarray(0, HEAD_BYTES))
    .setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  return Buffer.concat([decipher.update(body), decipher.final()])
}
