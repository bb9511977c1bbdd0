import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import {
  type CborMap,
  decodeCbor,
  encodeCbor,
  FairleadError,
  type ResultRow,
  type Store,
} from '@fairlead/core'
import {
  type Snapshot,
  type StoreReads,
  sealedIn,
  sealedInResult,
  sealedPayload,
  sealedResult,
  unreadablePayload,
  unreadableResult,
  type WriteBatch,
} from '@fairlead/core/internal'

const KEY_BYTES = 32
const KEY_ID_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = KEY_ID_BYTES + NONCE_BYTES

/**
 * A store in which the payloads of registrations lie encrypted: they have the names and data of people
 * (AUDIT-9). So do their results, which have a booking number (AUDIT-11). What is sealed is the id of its key, a nonce, the AES-256-GCM ciphertext of the payload and
 * its tag; where and when stand beside it, and stay when it is erased. The nonce comes from the key and
 * the id of the job, which stands for its payload: so no nonce is used for two, and the same commands
 * give the same rows. The first key seals, all of them open.
 */
export class SealedStore implements Store {
  readonly read: StoreReads
  readonly #inner: Store
  readonly #keys: readonly SealKey[]

  constructor(inner: Store, keys: readonly Uint8Array[]) {
    this.#inner = inner
    this.#keys = keys.map(sealKey)
    const { read } = inner
    this.read = {
      job: (...args) => read.job(...args),
      jobs: (...args) => read.jobs(...args),
      leases: (...args) => read.leases(...args),
      failures: (...args) => read.failures(...args),
      lease: (...args) => read.lease(...args),
      result: async (...args) => this.#openedResult(await read.result(...args)),
      round: (...args) => read.round(...args),
      journal: (...args) => read.journal(...args),
      timeline: (...args) => read.timeline(...args),
      assignmentsSince: (...args) => read.assignmentsSince(...args),
      everything: () => read.everything(),
      payloads: async (seqs) =>
        (await read.payloads(seqs)).map((payload) => payload && this.#opened(payload)),
      jobsByTx: async (keys) =>
        (await read.jobsByTx(keys)).map(
          (found) => found && { ...found, payload: this.#opened(found.payload) },
        ),
    }
  }

  load(): Promise<Snapshot> {
    return this.#inner.load()
  }

  commit(batch: WriteBatch): Promise<void> {
    const [key] = this.#keys
    const { personalResults } = batch
    const hasAny = batch.newJobs.some(({ row }) => row.kind === 'registration')
    if (key === undefined || (!hasAny && personalResults === undefined)) {
      return this.#inner.commit(batch)
    }
    const newJobs = batch.newJobs.map(({ row, payload }) =>
      row.kind === 'registration'
        ? { row, payload: sealedPayload(payload, seal(payload, row.id, key)) }
        : { row, payload },
    )
    const results = batch.results.map((row) =>
      personalResults?.has(row.jobSeq) === true ? sealedRow(row, key) : row,
    )
    return this.#inner.commit({ ...batch, newJobs, results })
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  #opened(payload: Uint8Array): Uint8Array {
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

  /** Null where its key is not there, or the bytes are damaged: one such row fails no others (FILES-4). */
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

/** The id that what is sealed with a key begins with, in hex. */
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

/** The nonce comes from all that is sealed: a result that is written anew with other bytes has another nonce. */
function sealedRow(row: ResultRow, key: SealKey): ResultRow {
  const { output, meta, leaseId } = row
  const plain = encodeCbor({ output, meta })
  const about = Buffer.concat([Buffer.from(`result|${leaseId}|`), plain])
  return { ...row, ...sealedResult(row, seal(plain, about, key)) }
}

function bytesOrNull(value: unknown): Uint8Array | null {
  return value instanceof Uint8Array ? value : null
}

/** No two payloads may have the same text of a nonce. */
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
