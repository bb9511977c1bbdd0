import {
  type Caller,
  type JobId,
  KIND_NAMES,
  type LeaseId,
  PROVIDER_STATUSES,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import type { Command } from '@fairlead/engine'
import fc from 'fast-check'

/** Each command without its name. */
type Fields = { [Type in Command['type']]: fc.Arbitrary<object> }

const text = fc.string({ unit: 'binary', maxLength: 12 })
const named = <Name extends string>() => text as fc.Arbitrary<Name>
const hex32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => {
  return `0x${Buffer.from(bytes).toString('hex')}`
})
const id = <Id extends string>() => hex32 as fc.Arbitrary<Id>
const bytes = fc.uint8Array({ maxLength: 300 })
const count = fc.oneof(fc.nat(300), fc.maxSafeNat())
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const json = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.oneof(fc.nat(), text, fc.boolean(), fc.constant(null)),
  { noNullPrototype: true },
)

/** Some fields, and some that may be left out. */
function fields<Required extends object, Optional extends object>(
  required: { [Key in keyof Required]: fc.Arbitrary<Required[Key]> },
  optional: { [Key in keyof Optional]: fc.Arbitrary<Optional[Key]> } = {} as never,
): fc.Arbitrary<object> {
  const requiredKeys = Object.keys(required) as never[]
  return fc.record({ ...required, ...optional }, { requiredKeys, noNullPrototype: true })
}

const acting = { actor: text }
const lease = { leaseId: id<LeaseId>(), by: named<ProviderId>() }
const byWorker = { workerId: named<WorkerId>() }
const provider = { providerId: named<ProviderId>() }
const worker = { ...provider, ...byWorker }
const pause = {
  kind: fc.constantFrom(...KIND_NAMES),
  name: orNull(text),
  caller: orNull(id<Caller>()),
}
const session = { platform: text, orgRef: text, eventId: text }
const offer = fields(
  {},
  {
    capabilities: fc.subarray([...KIND_NAMES]).map((kinds) => new Set(kinds)),
    models: fc.array(text).map((models) => new Set(models)),
    allow: orNull(fc.constant(null)),
    region: orNull(text),
    maxDepth: orNull(count),
  },
)
const amounts = fc.array(fc.record({ key: text, amount: count }, { noNullPrototype: true }), {
  maxLength: 3,
})

const proof = fields({ envelope: bytes, derivedTaskId: orNull(hex32) })

const anyOptions = fields(
  {},
  {
    runAt: count,
    attempts: count,
    backoff: fields({
      baseMs: count,
      factorPermille: count,
      capMs: count,
      jitterPermille: count,
    }),
    timeoutMs: count,
    priority: fc.integer({ min: -100, max: 100 }),
    tags: fc.array(text, { maxLength: 3 }),
    dedupeKey: text,
    dependsOn: fc.array(id<JobId>(), { maxLength: 3 }),
    onDependency: fc.constantFrom('cancel', 'run'),
  },
)

/** The other form of an enqueue. */
function withOptions(given: object): fc.Arbitrary<object> {
  const { request } = given as { readonly request: object }
  const completed = orNull(fc.array(id<JobId>(), { maxLength: 3 }))
  return fc
    .tuple(anyOptions, completed)
    .map(([options, ids]) => ({ ...given, request: { ...request, options }, completed: ids }))
}

const plainEnqueue = fields({
  request: fields({
    kind: fc.constantFrom(...KIND_NAMES),
    jobId: id<JobId>(),
    caller: id<Caller>(),
    txHash: fc.oneof(hex32, fc.uint8Array({ minLength: 32, maxLength: 32 })),
    chainId: u64,
    enqueueHeight: u64,
    payloadCbor: bytes,
    sizeBytes: count,
    demand: fields({
      model: orNull(text),
      shots: count,
      depthHint: count,
      units: count,
      tokens: count,
    }),
    maxFee: u64,
    regions: orNull(fc.array(text, { maxLength: 3 })),
    needs: orNull(
      fields({
        precision: orNull(fc.array(text, { maxLength: 3 })),
        widthHint: count,
        gates: orNull(fc.array(text, { maxLength: 3 })),
      }),
    ),
    ttlAbsSecs: orNull(count),
    options: fc.constant(null),
  }),
  tier: text,
  origin: orNull(fields({}, { retryOf: id<JobId>(), traceparent: text, txHash: hex32 })),
  session: orNull(
    fields({
      ...session,
      tieBreaker: text,
      seat: text,
      scheduledTime: count,
      isOperators: fc.boolean(),
    }),
  ),
  completed: fc.constant(null),
})
const enqueue = plainEnqueue.chain((given) => fc.oneof(fc.constant(given), withOptions(given)))
const schedule = { caller: id<Caller>(), id: text }

const FIELDS: Fields = {
  tick: fields({}),
  enqueue,
  cascade: fields({}),
  cancel: fields({ jobId: id<JobId>(), by: text }, acting),
  ack: fields(lease, byWorker),
  renew: fields(lease, byWorker),
  decline: fields(lease, byWorker),
  release: fields(lease, byWorker),
  complete: fields(
    {
      ...lease,
      digest: hex32,
      output: orNull(bytes),
      meta: orNull(bytes),
      actualUnits: orNull(count),
    },
    { ...byWorker, contentType: orNull(text), actualTokens: orNull(count) },
  ),
  fail: fields(
    { ...lease, code: text, permanent: fc.boolean() },
    {
      ...byWorker,
      message: text,
      details: bytes,
      retryAfterMs: count,
      http: count,
      isUnknown: fc.boolean(),
      isUnsent: fc.boolean(),
      sentAfterMs: count,
      lookup: fc.constantFrom('booked', 'not_booked', 'failed'),
    },
  ),
  withdraw: fields({ leaseId: id<LeaseId>() }),
  registerProvider: fields(
    { ...provider, offer, stake: u64 },
    { ...acting, publicKey: orNull(hex32) },
  ),
  updateProvider: fields({ ...provider, offer }, acting),
  heartbeat: fields(provider),
  connectWorker: fields({
    ...worker,
    session: count,
    slots: count,
    holds: orNull(fc.array(text, { maxLength: 3 })),
  }),
  setWorkerSlots: fields({ ...worker, slots: count }),
  disconnectWorker: fields(worker),
  setProviderStatus: fields({ ...provider, status: fc.constantFrom(...PROVIDER_STATUSES) }, acting),
  stake: fields({ ...provider, amount: u64 }, acting),
  unstake: fields({ ...provider, amount: u64 }, acting),
  setKey: fields({ ...provider, publicKey: orNull(hex32) }, acting),
  openChallenge: fields({ ...provider, value: hex32 }),
  attest: fields(
    { ...provider, className: text, chain: fc.array(bytes, { maxLength: 3 }), signature: bytes },
    acting,
  ),
  submitProof: fields({ proof, by: orNull(text) }, acting),
  applyBlock: fields(
    {
      block: fields({
        height: count,
        timeMs: count,
        minerId: text,
        proofs: fc.array(fields({ item: proof, txHash: hex32 }), { maxLength: 3 }),
      }),
    },
    acting,
  ),
  recordPayout: fields({ account: text, amount: u64, reference: text }, acting),
  closeEpoch: fields({ epochId: count, auditSeq: count, auditHead: hex32 }, acting),
  settleEpoch: fields({ epochId: count, batchId: orNull(hex32) }),
  setPolicy: fields(
    {
      written: json,
      preset: fc.constantFrom('queue', 'fund'),
      assigned: orNull(fc.array(fields({ at: count, caller: id<Caller>() }), { maxLength: 3 })),
    },
    acting,
  ),
  defineLimit: fields({ limit: json }, acting),
  resetLimit: fields({ key: text }, acting),
  deleteLimit: fields({ key: text }, acting),
  reserveLimits: fields({
    requests: fc.array(fields({ leaseId: text, requirements: amounts }), { maxLength: 3 }),
  }),
  completeLimits: fields({
    requests: fc.array(fields({ leaseId: text }, { actuals: amounts }), { maxLength: 3 }),
  }),
  listLimits: fields({ key: orNull(text) }),
  cutJournal: fields({ cut: fields({ seq: count, hash: hex32 }) }, acting),
  note: fields({ note: json }, acting),
  noteTokens: fields({ tokens: fc.array(json, { maxLength: 3 }) }, acting),
  setOpening: fields({ ...session, opensAt: count }, acting),
  releasePlace: fields({ ...session, jobId: id<JobId>(), seq: count }, acting),
  follow: fields({
    id: text,
    seq: fc.oneof(count, fc.constant('now' as const), fc.constant(null)),
  }),
  forgetJobs: fields({ seqs: fc.array(count, { maxLength: 3 }), endedBefore: count }),
  round: fields({}),
  prune: fields({}),
  resume: fields({ gapMs: count, present: fc.array(fields(worker), { maxLength: 3 }) }),
  beat: fields({}),
  putSchedule: fields(
    {
      ...schedule,
      cron: text,
      timezone: text,
      request: text,
      tier: text,
      overlap: fc.constantFrom('allow', 'skip'),
      catchUp: fc.constantFrom('none', 'last', 'all'),
      isPaused: fc.boolean(),
      firstAt: count,
    },
    acting,
  ),
  progress: fields({ ...lease, percent: orNull(count), message: orNull(text) }, byWorker),
  startBulk: fields(
    {
      id: text,
      action: fc.constantFrom('cancel', 'retry'),
      by: text,
      filter: text,
      limit: count,
    },
    acting,
  ),
  stepBulk: fields({
    id: text,
    from: count,
    to: count,
    looked: count,
    ids: fc.array(id<JobId>(), { maxLength: 3 }),
    isLast: fc.boolean(),
  }),
  deleteSchedule: fields(schedule, acting),
  fireSchedule: fields({
    ...schedule,
    dueAt: orNull(count),
    at: orNull(count),
    nextAt: orNull(count),
    enqueue: orNull(enqueue),
    reason: orNull(text),
  }),
  pauseQueue: fields(pause, acting),
  resumeQueue: fields(pause, acting),
}

/** Every command, with every field that it may have. */
export const anyCommand: fc.Arbitrary<Command> = fc
  .constantFrom(...(Object.keys(FIELDS) as Command['type'][]))
  .chain((type) => FIELDS[type].map((given) => ({ type, ...given }) as Command))
