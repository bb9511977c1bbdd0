import {
  JOB_STATUSES,
  KIND_NAMES,
  type LeaseListener,
  PROVIDER_STATUSES,
  type ProviderOffer,
  WAIT_REASONS,
  type WaitReason,
  type WorkerHello,
} from '@fairlead/core'
import {
  invalidParams,
  isHex32,
  isPlainObject,
  type JobFilter,
  PAUSABLE_KINDS,
  U64_MAX,
} from '@fairlead/core/internal'
import type { Submission } from './command.ts'

/** Filter, start and size of a list of jobs. */
export type ListFilter = Omit<JobFilter, 'afterSeq' | 'beforeSeq' | 'ended' | 'limit'> & {
  /** Jobs that wait for this reason now. */
  readonly waitReason?: WaitReason
  readonly cursor?: number
  readonly limit?: number
  readonly order?: 'oldest' | 'newest'
}

/** Returns what was expected in place of a wrong value, or null if the value fits. */
type Check = (value: unknown) => string | null

/** The field's name in errors, its key in the command, and its check. */
type Field = readonly [name: string, key: string, check: Check]

const expecting =
  (expected: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? null : expected

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed()
const isName = (value: unknown): boolean => isText(value) && value !== ''
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isBytes = (value: unknown): boolean => value instanceof Uint8Array
const isSetOf =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value instanceof Set && [...value].every(fits)

const text = expecting('text', isText)
const name = expecting('text of at least one character', isName)
const textOrNone = expecting('text, or to be left out', (v) => v === undefined || isText(v))
const bytesOrNone = expecting('bytes, or to be left out', (v) => v === null || isBytes(v))
const count = expecting('a whole number of at least 0', isCount)
const countOrNull = expecting(
  'a whole number of at least 0, or null',
  (v) => v === null || isCount(v),
)
const countOrNone = expecting(
  'a whole number of at least 0, or to be left out',
  (v) => v === undefined || isCount(v),
)
const flagOrNone = expecting(
  'true or false, or to be left out',
  (v) => v === undefined || typeof v === 'boolean',
)
const amount = expecting(
  'a bigint from 0 to 2^64 − 1',
  (v) => typeof v === 'bigint' && v >= 0n && v <= U64_MAX,
)
const oneOf = (words: readonly unknown[]): Check =>
  expecting(`one of ${words.join(', ')}`, (v) => words.includes(v))
const plainObject = expecting('an object', isPlainObject)
const texts = expecting('a Set of text', isSetOf(isText))
const textsOrNull = expecting('a Set of text, or null', (v) => v === null || isSetOf(isText)(v))

const OFFER: { readonly [Key in keyof ProviderOffer]: Check } = {
  capabilities: expecting(
    `a Set of ${KIND_NAMES.join(', ')}`,
    isSetOf((v) => KIND_NAMES.some((kind) => kind === v)),
  ),
  models: texts,
  platforms: texts,
  maxDepth: countOrNull,
  maxShots: countOrNull,
  maxWidth: countOrNull,
  gates: textsOrNull,
  precision: textsOrNull,
  region: expecting('text, or null', (v) => v === null || isText(v)),
  allow: textsOrNull,
  deny: texts,
  leasesMax: countOrNull,
}

const offer: Check = (value) => {
  if (!isPlainObject(value)) return 'an object'
  for (const [key, given] of Object.entries(value)) {
    const expected = expectedOf(OFFER, key, given)
    if (expected !== null) return `${key} to be ${expected}`
  }
  return null
}

/** Returns what was expected of a field of an object whose fields are all optional; null if the value fits. */
function expectedOf<Key extends string>(
  checks: { readonly [Name in Key]: Check },
  key: string,
  given: unknown,
): string | null {
  if (!Object.hasOwn(checks, key)) return `one of ${Object.keys(checks).join(', ')}`
  return given === undefined ? null : checks[key as Key](given)
}

const isCaller = (value: unknown): boolean => typeof value === 'string' && isHex32(value)
const caller = expecting('32 bytes as 0x and 64 lower-case hex digits', isHex32)

const origin: Check = expecting(
  'an object with retryOf and traceparent as text, or null',
  (v) =>
    v === null ||
    (isPlainObject(v) &&
      Object.entries(v).every(
        ([key, given]) =>
          ['retryOf', 'traceparent'].includes(key) && (given === undefined || isText(given)),
      )),
)

const holds = expecting(
  'a list of lease ids, or null',
  (v) => v === null || (Array.isArray(v) && v.every(isText)),
)

/** The fields of each note: texts and whole numbers. */
const NOTES: Readonly<
  Record<string, readonly [texts: readonly string[], counts: readonly string[]]>
> = {
  accessRefused: [['subject', 'by', 'reason'], ['attempts']],
  dataRead: [['subject', 'by', 'caller'], ['reads']],
  backupMade: [
    ['subject', 'path'],
    ['batch', 'bytes'],
  ],
}

const note: Check = expecting(
  'a note: accessRefused with subject, by and reason as text and attempts as a count, dataRead with subject, by and caller and reads, or backupMade with subject, path, batch and bytes',
  (v) => {
    if (!isPlainObject(v) || !isText(v['type'])) return false
    const [texts, counts] = Object.hasOwn(NOTES, v['type']) ? (NOTES[v['type']] ?? []) : []
    if (texts === undefined || counts === undefined) return false
    const known = ['type', ...texts, ...counts]
    return (
      Object.keys(v).every((key) => known.includes(key)) &&
      texts.every((name) => isText(v[name])) &&
      counts.every((name) => isCount(v[name]))
    )
  },
)

const tokens: Check = expecting(
  'a list of objects with id, digest, role, holder and scope as text, isRevoked, and expiresAt as a time or null',
  (v) =>
    Array.isArray(v) &&
    v.every(
      (one) =>
        isPlainObject(one) &&
        [one['id'], one['digest'], one['role'], one['holder'], one['scope']].every(isText) &&
        typeof one['isRevoked'] === 'boolean' &&
        (one['expiresAt'] === null || isCount(one['expiresAt'])),
    ),
)

const keyOrNone = expecting('a key as 0x hex, or null', (v) => v == null || isText(v))
const textOrNull = expecting('text, or null', (v) => v === null || isText(v))
const bytes = expecting('bytes', isBytes)
const bytesList = expecting('a list of bytes', (v) => Array.isArray(v) && v.every(isBytes))

const isProof = (v: unknown): boolean =>
  isPlainObject(v) &&
  isBytes(v['envelope']) &&
  (v['derivedTaskId'] === null || isHex32(v['derivedTaskId']))
const proof = expecting('an envelope as bytes', isProof)
const block = expecting(
  'a block: height and timeMs as whole numbers, minerId as text, and proofs, each with an envelope and a txHash of 32 bytes as 0x hex',
  (v) =>
    isPlainObject(v) &&
    isCount(v['height']) &&
    isCount(v['timeMs']) &&
    isName(v['minerId']) &&
    Array.isArray(v['proofs']) &&
    v['proofs'].every(
      (one) => isPlainObject(one) && isProof(one['item']) && isHex32(one['txHash']),
    ),
)

const PAUSE: readonly Field[] = [
  ['kind', 'kind', oneOf(PAUSABLE_KINDS)],
  [
    'name',
    'name',
    expecting(
      'text of 1 to 256 characters, or null',
      (v) => v === null || (isName(v) && (v as string).length <= 256),
    ),
  ],
  ['caller', 'caller', expecting('32 bytes as hex, or null', (v) => v === null || isCaller(v))],
]
const LEASE: readonly Field[] = [
  ['lease_id', 'leaseId', text],
  ['provider_id', 'by', text],
  ['worker_id', 'workerId', textOrNone],
]
const PROVIDER: readonly Field[] = [['provider_id', 'providerId', text]]
const WORKER: readonly Field[] = [...PROVIDER, ['worker_id', 'workerId', text]]
const SESSION: readonly Field[] = [
  ['platform', 'platform', name],
  ['org_ref', 'orgRef', name],
  ['event_id', 'eventId', name],
]

/** Left out: fields that the rules check themselves, and commands that only the engine makes. */
const FIELDS: { readonly [Type in Submission['type']]?: readonly Field[] } = {
  enqueue: [
    ['caller', 'caller', caller],
    ['origin', 'origin', origin],
  ],
  cancel: [
    ['task_id', 'jobId', text],
    ['by', 'by', text],
  ],
  ack: LEASE,
  renew: LEASE,
  decline: LEASE,
  progress: LEASE,
  release: LEASE,
  complete: [
    ...LEASE,
    ['meta', 'meta', bytesOrNone],
    [
      'content_type',
      'contentType',
      expecting('text, or to be left out', (v) => v == null || isText(v)),
    ],
  ],
  fail: [
    ...LEASE,
    ['code', 'code', textOrNone],
    [
      'message',
      'message',
      expecting('text, or to be left out', (v) => v === undefined || typeof v === 'string'),
    ],
    [
      'details',
      'details',
      expecting('canonical CBOR as bytes, or to be left out', (v) => v === undefined || isBytes(v)),
    ],
    ['permanent', 'permanent', flagOrNone],
    ['http', 'http', countOrNone],
    ['is_unknown', 'isUnknown', flagOrNone],
    ['is_unsent', 'isUnsent', flagOrNone],
    ['lookup', 'lookup', oneOf(['booked', 'not_booked', 'failed', undefined])],
  ],
  registerProvider: [
    ...PROVIDER,
    ['offer', 'offer', offer],
    ['stake', 'stake', amount],
    ['public_key', 'publicKey', keyOrNone],
  ],
  updateProvider: [...PROVIDER, ['offer', 'offer', offer]],
  heartbeat: PROVIDER,
  connectWorker: [...WORKER, ['holds', 'holds', holds]],
  setWorkerSlots: WORKER,
  disconnectWorker: WORKER,
  setProviderStatus: [...PROVIDER, ['status', 'status', oneOf(PROVIDER_STATUSES)]],
  stake: [...PROVIDER, ['amount_u64', 'amount', amount]],
  unstake: [...PROVIDER, ['amount_u64', 'amount', amount]],
  setKey: [...PROVIDER, ['public_key', 'publicKey', keyOrNone]],
  openChallenge: PROVIDER,
  attest: [
    ...PROVIDER,
    ['class', 'className', text],
    ['chain', 'chain', bytesList],
    ['signature', 'signature', bytes],
  ],
  submitProof: [
    ['proof', 'proof', proof],
    ['provider_id', 'by', textOrNull],
  ],
  applyBlock: [['block', 'block', block]],
  recordPayout: [
    ['account', 'account', text],
    ['amount_u64', 'amount', amount],
    ['reference', 'reference', text],
  ],
  closeEpoch: [['epoch_id', 'epochId', count]],
  setPolicy: [['policy', 'written', plainObject]],
  pauseQueue: PAUSE,
  resumeQueue: PAUSE,
  follow: [
    [
      'id',
      'id',
      expecting('text of 1 to 64 characters', (v) => isName(v) && (v as string).length <= 64),
    ],
    [
      'seq',
      'seq',
      expecting('the number of an event', (v) => v === null || v === 'now' || isCount(v)),
    ],
  ],
  listLimits: [['key', 'key', expecting('text', (v) => v === null || isText(v))]],
  setOpening: SESSION,
  releasePlace: SESSION,
  note: [['note', 'note', note]],
  noteTokens: [['tokens', 'tokens', tokens]],
}

/**
 * Refuses a command with an argument of the wrong type, as plain JavaScript can pass it (ENGINE-11). In a batch it
 * would fail every other call, or be recorded and never be readable again.
 */
export function checkCommand(command: Submission): void {
  const values = command as unknown as Readonly<Record<string, unknown>>
  for (const [field, key, check] of FIELDS[command.type] ?? []) {
    const expected = check(values[key])
    if (expected !== null) throw invalidParams(field, expected)
  }
  const expected = textOrNone(values['actor'])
  if (expected !== null) throw invalidParams('actor', expected)
}

/** The check of each field that a list of jobs can filter by. */
const FILTER: { readonly [Key in keyof ListFilter]-?: Check } = {
  status: oneOf(JOB_STATUSES),
  kind: oneOf(KIND_NAMES),
  providerId: text,
  caller: text,
  model: text,
  idPrefix: expecting(
    '0x and the first 8 to 64 digits of an id',
    (v) => typeof v === 'string' && /^0x[0-9a-f]{8,64}$/.test(v),
  ),
  afterHeight: amount,
  tag: name,
  dedupeKey: name,
  schedule: name,
  txHash: expecting('32 bytes as 0x and 64 lower-case hex digits', isHex32),
  error: name,
  since: count,
  until: count,
  waitReason: oneOf(WAIT_REASONS),
  cursor: count,
  limit: count,
  order: oneOf(['oldest', 'newest']),
}

/** Refuses a list filter with an unknown or wrong field. A misspelt field would otherwise return all jobs. */
export function checkFilter(filter: ListFilter): void {
  if (!isPlainObject(filter)) throw invalidParams('filter', 'an object')
  for (const [key, given] of Object.entries(filter)) {
    const expected = expectedOf(FILTER, key, given)
    if (expected !== null) throw invalidParams(key, expected)
  }
}

const LISTENER = ['offer', 'held', 'lost', 'closed'] as const satisfies (keyof LeaseListener)[]

/**
 * Refuses a worker whose hello or listener has a wrong type. `checkCommand` checks the fields that its commands
 * carry.
 */
export function checkHello(hello: WorkerHello, listener: LeaseListener): void {
  if (!isPlainObject(hello)) throw invalidParams('hello', 'an object')
  const { offer: offered } = hello as Readonly<Record<string, unknown>>
  if (offered !== undefined) {
    if (!isPlainObject(offered)) throw invalidParams('offer', 'an object')
    const { kinds, models, platforms = [] } = offered
    for (const [field, list] of Object.entries({ kinds, models, platforms })) {
      if (!Array.isArray(list)) throw invalidParams(field, 'a list of text')
    }
  }
  for (const method of LISTENER) {
    if (typeof (listener as LeaseListener | null | undefined)?.[method] !== 'function') {
      throw invalidParams('listener', `an object with the methods ${LISTENER.join(', ')}`)
    }
  }
}

/** Refuses an id that is not text. */
export function checkId(field: string, id: string): void {
  const expected = text(id)
  if (expected !== null) throw invalidParams(field, expected)
}
