import {
  type CompleteRequest,
  type JobId,
  type JobOptions,
  KIND_NAMES,
  PROVIDER_STATUSES,
  type ProviderOffer,
  type SessionKey,
} from '@fairlead/core'
import {
  type Block,
  BULK_ACTIONS,
  CATCH_UPS,
  compareText,
  type GivenProof,
  invariant,
  isHex32,
  ON_DEPENDENCY,
  OVERLAPS,
  type PauseKey,
  type ScheduleKey,
} from '@fairlead/core/internal'
import type { ByteReader, ByteWriter } from './byte-codec.ts'
import type {
  Acting,
  Command,
  EnqueueCommand,
  JobRequest,
  OfWorker,
  OnLease,
  RequestOrigin,
} from './command.ts'

/** Writes a value as bytes and reads it back. */
interface FieldCodec<Value> {
  readonly put: (to: ByteWriter, value: Value) => void
  readonly take: (from: ByteReader) => Value
}

/** Every field needs a codec, optional fields too, so the compiler catches a missing one. */
type FieldCodecs<Fields> = { readonly [Name in keyof Fields]-?: FieldCodec<Fields[Name]> }

type CommandOf<Type extends Command['type'], Each = Command> = Each extends {
  readonly type: infer Own
}
  ? Type extends Own
    ? Omit<Each, 'type'>
    : never
  : never

const uint: FieldCodec<number> = {
  put: (to, value) => to.uint(value),
  take: (from) => from.uint(),
}
/** A whole number of either sign. */
const int: FieldCodec<number> = {
  put: (to, value) => {
    to.byte(value < 0 ? 1 : 0)
    to.uint(Math.abs(value))
  },
  take: (from) => (from.byte() === 1 ? -from.uint() : from.uint()),
}
const flag: FieldCodec<boolean> = {
  put: (to, value) => to.byte(value ? 1 : 0),
  take: (from) => from.byte() === 1,
}
const bytes: FieldCodec<Uint8Array> = {
  put: (to, value) => to.bytes(value),
  take: (from) => from.bytes(),
}
const u64: FieldCodec<bigint> = {
  put: (to, value) => {
    to.uint(Number(value >> 32n))
    to.uint(Number(value & 0xffff_ffffn))
  },
  take: (from) => (BigInt(from.uint()) << 32n) | BigInt(from.uint()),
}
/** JSON, with support for sets. Fields that are `undefined` are left out. */
const json: FieldCodec<unknown> = {
  put: (to, value) => to.text(JSON.stringify(value, withSets)),
  take: (from) => JSON.parse(from.text(), toSets) as unknown,
}

/** Text, or a branded string. */
function text<Text extends string>(): FieldCodec<Text> {
  return { put: (to, value) => to.text(value), take: (from) => from.text() as Text }
}

/** An id of `0x` and hex, as its bytes. */
function hex<Id extends string>(): FieldCodec<Id> {
  return { put: (to, value) => to.hex(value), take: (from) => from.hex() as Id }
}

/** A word of a list, stored as its index. Such a list may only grow at its end. */
function word<Word extends string>(words: readonly Word[]): FieldCodec<Word> {
  return {
    put: (to, value) => {
      const index = words.indexOf(value)
      invariant(index >= 0, 'a word of a command is one of its list')
      to.byte(index)
    },
    take: (from) => words[from.byte()] as Word,
  }
}

function nullable<Value>(codec: FieldCodec<Value>): FieldCodec<Value | null> {
  return {
    put: (to, value) => {
      to.byte(value === null ? 0 : 1)
      if (value !== null) codec.put(to, value)
    },
    take: (from) => (from.byte() === 0 ? null : codec.take(from)),
  }
}

/** For an optional field. */
function optional<Value>(codec: FieldCodec<Value>): FieldCodec<Value | undefined> {
  return {
    put: (to, value) => {
      to.byte(value === undefined ? 0 : 1)
      if (value !== undefined) codec.put(to, value)
    },
    take: (from) => (from.byte() === 0 ? undefined : codec.take(from)),
  }
}

function list<Value>(codec: FieldCodec<Value>): FieldCodec<readonly Value[]> {
  return {
    put: (to, values) => {
      to.uint(values.length)
      for (const value of values) codec.put(to, value)
    },
    take: (from) => Array.from({ length: from.uint() }, () => codec.take(from)),
  }
}

/** The fields in the order of `codecs`. A field that was left out is left out again. */
function record<Fields extends object>(codecs: FieldCodecs<Fields>): FieldCodec<Fields> {
  const fields = Object.entries(codecs) as [string, FieldCodec<unknown>][]
  return {
    put: (to, value) => {
      const values = value as Readonly<Record<string, unknown>>
      for (const [name, codec] of fields) codec.put(to, values[name])
    },
    take: (from) => {
      const values: Record<string, unknown> = {}
      for (const [name, codec] of fields) {
        const value = codec.take(from)
        if (value !== undefined) values[name] = value
      }
      return values as Fields
    },
  }
}

/** The 32 bytes of a key: as hex if the caller chose it, as bytes if the engine made it. The tables find the former. */
const txHash: FieldCodec<string | Uint8Array> = {
  put: (to, value) => {
    const isNamed = typeof value === 'string'
    flag.put(to, isNamed)
    if (!isNamed) return bytes.put(to, value)
    invariant(isHex32(value), 'the key of an accepted request is 32 bytes')
    to.hex(value)
  },
  take: (from) => (flag.take(from) ? from.hex() : from.bytes()),
}

/** A field that is not recorded. */
function unrecorded<Value>(): FieldCodec<Value | undefined> {
  return { put: () => {}, take: () => undefined }
}

const givenProof = record<GivenProof>({ envelope: bytes, derivedTaskId: nullable(hex()) })
const onLease: FieldCodecs<OnLease> = { leaseId: hex(), by: text(), workerId: optional(text()) }
const acting: FieldCodecs<Acting> = { actor: optional(text()) }
const ofWorker: FieldCodecs<OfWorker> = { providerId: text(), workerId: text() }
const sessionKey: FieldCodecs<SessionKey> = { platform: text(), orgRef: text(), eventId: text() }
const offer = json as FieldCodec<Partial<ProviderOffer>>
const pauseKey: FieldCodecs<PauseKey> = {
  kind: word(KIND_NAMES),
  name: nullable(text()),
  caller: nullable(hex()),
}

/** The place of a follower: where the journal ends, or a number. */
const place: FieldCodec<number | 'now' | null> = {
  put: (to, value) => {
    to.byte(value === null ? 0 : value === 'now' ? 1 : 2)
    if (typeof value === 'number') to.uint(value)
  },
  take: (from) => {
    const form = from.byte()
    return form === 0 ? null : form === 1 ? 'now' : from.uint()
  },
}

const scheduleKey: FieldCodecs<ScheduleKey> = { caller: hex(), id: text() }

/** For a field that is null in this form of a command. */
function absent<Value>(): FieldCodec<Value | null> {
  return { put: () => undefined, take: () => null }
}

const options = record<JobOptions>({
  runAt: optional(uint),
  attempts: optional(uint),
  backoff: optional(
    record({ baseMs: uint, factorPermille: uint, capMs: uint, jitterPermille: uint }),
  ),
  timeoutMs: optional(uint),
  priority: optional(int),
  tags: optional(list(text())),
  dedupeKey: optional(text()),
  dependsOn: optional(list(hex<JobId>())),
  onDependency: optional(word(ON_DEPENDENCY)),
})

const jobRequest: FieldCodecs<JobRequest> = {
  kind: word(KIND_NAMES),
  jobId: hex(),
  caller: hex(),
  txHash,
  chainId: u64,
  enqueueHeight: u64,
  payloadCbor: bytes,
  sizeBytes: uint,
  demand: record({
    model: nullable(text()),
    shots: uint,
    depthHint: uint,
    units: uint,
    tokens: uint,
  }),
  maxFee: u64,
  regions: nullable(list(text())),
  needs: nullable(
    record({
      precision: nullable(list(text())),
      widthHint: uint,
      gates: nullable(list(text())),
    }),
  ),
  ttlAbsSecs: nullable(uint),
  options: absent(),
}

type EnqueueFields = Omit<EnqueueCommand, 'type'>

/** Without options, as most jobs are. */
const enqueue: FieldCodecs<EnqueueFields> = {
  request: record(jobRequest),
  tier: text(),
  origin: nullable(
    record<RequestOrigin>({
      retryOf: optional(text()),
      traceparent: optional(text()),
      txHash: optional(hex()),
    }),
  ),
  session: nullable(
    record({
      ...sessionKey,
      tieBreaker: text(),
      seat: text(),
      scheduledTime: uint,
      isOperators: flag,
    }),
  ),
  completed: absent(),
}

const enqueueWithOptions: FieldCodecs<EnqueueFields> = {
  ...enqueue,
  request: record({ ...jobRequest, options: nullable(options) }),
  completed: nullable(list(hex<JobId>())),
}

/**
 * The number of every command and the codecs of its fields. This table defines the record format. A number is
 * never reused for another command or other fields. A command with new fields gets another number, as enqueue has, or
 * all numbers get a new `COMMAND_FORMAT`.
 */
const COMMANDS: {
  readonly [Type in Command['type']]: readonly [
    number: number,
    fields: FieldCodecs<CommandOf<Type>>,
  ]
} = {
  tick: [0, {}],
  enqueue: [1, enqueue],
  cancel: [2, { jobId: hex(), by: text(), ...acting }],
  ack: [3, onLease],
  renew: [4, onLease],
  decline: [5, onLease],
  release: [6, onLease],
  complete: [
    7,
    {
      ...onLease,
      digest: hex(),
      output: nullable(bytes),
      contentType: optional(nullable(text())),
      meta: nullable(bytes),
      actualUnits: nullable(uint),
      actualTokens: optional(nullable(uint)),
      isFeeFailed: optional(flag),
    },
  ],
  fail: [
    8,
    {
      ...onLease,
      code: text(),
      permanent: flag,
      message: optional(text()),
      details: optional(bytes),
      retryAfterMs: optional(uint),
      http: optional(uint),
      isUnknown: optional(flag),
      isUnsent: optional(flag),
      sentAfterMs: optional(uint),
      lookup: optional(word(['booked', 'not_booked', 'failed'])),
    },
  ],
  withdraw: [9, { leaseId: hex() }],
  registerProvider: [
    43,
    { providerId: text(), offer, stake: u64, publicKey: optional(nullable(hex())), ...acting },
  ],
  updateProvider: [11, { providerId: text(), offer, ...acting }],
  heartbeat: [12, { providerId: text() }],
  connectWorker: [13, { ...ofWorker, session: uint, slots: uint, holds: nullable(list(text())) }],
  setWorkerSlots: [14, { ...ofWorker, slots: uint }],
  disconnectWorker: [15, ofWorker],
  setProviderStatus: [16, { providerId: text(), status: word(PROVIDER_STATUSES), ...acting }],
  stake: [17, { providerId: text(), amount: u64, ...acting }],
  setPolicy: [
    18,
    {
      written: json,
      preset: text(),
      assigned: json as FieldCodec<CommandOf<'setPolicy'>['assigned']>,
      ...acting,
    },
  ],
  defineLimit: [19, { limit: json, ...acting }],
  resetLimit: [20, { key: text(), ...acting }],
  deleteLimit: [21, { key: text(), ...acting }],
  reserveLimits: [
    22,
    {
      requests: list(
        record({ leaseId: text(), requirements: list(record({ key: text(), amount: uint })) }),
      ),
    },
  ],
  completeLimits: [
    23,
    {
      requests: list(
        record<CompleteRequest>({
          leaseId: text(),
          actuals: optional(list(record({ key: text(), amount: uint }))),
        }),
      ),
    },
  ],
  listLimits: [24, { key: nullable(text()) }],
  cutJournal: [25, { cut: record({ seq: uint, hash: hex() }), ...acting }],
  note: [26, { note: json as FieldCodec<CommandOf<'note'>['note']>, ...acting }],
  noteTokens: [27, { tokens: json as FieldCodec<CommandOf<'noteTokens'>['tokens']>, ...acting }],
  setOpening: [28, { ...sessionKey, opensAt: uint, ...acting }],
  releasePlace: [29, { ...sessionKey, jobId: hex(), seq: uint, ...acting }],
  round: [30, {}],
  prune: [31, {}],
  resume: [32, { gapMs: uint, present: list(record(ofWorker)) }],
  beat: [33, {}],
  submitProof: [34, { proof: givenProof, by: nullable(text()), ...acting }],
  applyBlock: [
    35,
    {
      block: record<Block<GivenProof>>({
        height: uint,
        timeMs: uint,
        minerId: text(),
        proofs: list(record({ item: givenProof, txHash: hex() })),
      }),
      ...acting,
    },
  ],
  openChallenge: [36, { providerId: text(), value: hex() }],
  attest: [
    37,
    { providerId: text(), className: text(), chain: list(bytes), signature: bytes, ...acting },
  ],
  unstake: [38, { providerId: text(), amount: u64, ...acting }],
  recordPayout: [39, { account: text(), amount: u64, reference: text(), ...acting }],
  closeEpoch: [40, { epochId: uint, auditSeq: uint, auditHead: hex(), ...acting }],
  settleEpoch: [41, { epochId: uint, batchId: nullable(hex()), computed: unrecorded() }],
  setKey: [42, { providerId: text(), publicKey: nullable(hex()), ...acting }],
  cascade: [51, {}],
  pauseQueue: [60, { ...pauseKey, ...acting }],
  resumeQueue: [61, { ...pauseKey, ...acting }],
  putSchedule: [
    62,
    {
      ...scheduleKey,
      cron: text(),
      timezone: text(),
      request: text(),
      tier: text(),
      overlap: word(OVERLAPS),
      catchUp: word(CATCH_UPS),
      isPaused: flag,
      firstAt: uint,
      ...acting,
    },
  ],
  deleteSchedule: [63, { ...scheduleKey, ...acting }],
  progress: [67, { ...onLease, percent: nullable(uint), message: nullable(text()) }],
  startBulk: [
    65,
    {
      id: text(),
      action: word(BULK_ACTIONS),
      by: text(),
      filter: text(),
      limit: uint,
      ...acting,
    },
  ],
  stepBulk: [
    66,
    { id: text(), from: uint, to: uint, looked: uint, ids: list(hex()), isLast: flag },
  ],
  follow: [70, { id: text(), seq: place }],
  forgetJobs: [71, { seqs: list(uint), endedBefore: uint }],
  fireSchedule: [
    64,
    {
      ...scheduleKey,
      dueAt: nullable(uint),
      at: nullable(uint),
      nextAt: nullable(uint),
      enqueue: nullable(record(enqueueWithOptions)),
      reason: nullable(text()),
    },
  ],
}

/** Commands as earlier versions recorded them. They are read and never written. */
const FORMER: Readonly<Record<number, readonly [type: Command['type'], fields: object]>> = {
  10: ['registerProvider', { providerId: text(), offer, stake: u64, ...acting }],
}

/** The number of an enqueue with options. */
const ENQUEUE_WITH_OPTIONS = 50

/** Must change whenever a codec of a number changes. A version that does not know a number refuses its batch. */
export const COMMAND_FORMAT = 1

const byNumber: readonly (readonly [type: Command['type'], codec: FieldCodec<object>])[] = (() => {
  const table: [Command['type'], FieldCodec<object>][] = []
  for (const [type, [number, fields]] of Object.entries(COMMANDS)) {
    invariant(table[number] === undefined, 'a number stands for one command')
    table[number] = [type as Command['type'], record(fields as FieldCodecs<object>)]
  }
  for (const [number, [type, fields]] of Object.entries(FORMER)) {
    invariant(table[Number(number)] === undefined, 'a number stands for one command')
    table[Number(number)] = [type, record(fields as FieldCodecs<object>)]
  }
  invariant(table[ENQUEUE_WITH_OPTIONS] === undefined, 'a number stands for one command')
  table[ENQUEUE_WITH_OPTIONS] = ['enqueue', record(enqueueWithOptions) as FieldCodec<object>]
  return table
})()

export function putCommand(to: ByteWriter, command: Command): void {
  const number = numberOf(command)
  to.byte(number)
  byNumber[number]?.[1].put(to, command)
}

function numberOf(command: Command): number {
  const hasOptions = command.type === 'enqueue' && command.request.options !== null
  return hasOptions ? ENQUEUE_WITH_OPTIONS : COMMANDS[command.type][0]
}

export function takeCommand(from: ByteReader): Command {
  const number = from.byte()
  const row = byNumber[number]
  if (row === undefined) throw new RangeError(`no command has the number ${number}`)
  const [type, codec] = row
  return { type, ...codec.take(from) } as Command
}

const SET = '$set'

function withSets(_: string, value: unknown): unknown {
  return value instanceof Set ? { [SET]: ([...value] as string[]).sort(compareText) } : value
}

function toSets(_: string, value: unknown): unknown {
  const items = (value as Readonly<Record<string, unknown>> | null)?.[SET]
  return Array.isArray(items) ? new Set(items) : value
}
