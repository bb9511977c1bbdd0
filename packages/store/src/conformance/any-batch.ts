import {
  hasEnded,
  isLive,
  JOB_STATUSES,
  type JobRow,
  type JobState,
  type JournalRow,
  KIND_NAMES,
  LEASE_STATUSES,
  type LeaseRow,
  PROVIDER_STATUSES,
  type ProviderRow,
  type WorkerId,
  type WriteBatch,
} from '@fairlead/core'
import fc from 'fast-check'
import type { PlainStore } from './plain-store.ts'
import {
  batchOf,
  callerOf,
  hashOf,
  jobIdOf,
  leaseIdOf,
  named,
  newJob,
  providerOf,
  START,
  sampleEntry,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
} from './sample-rows.ts'

/** Draws values inside a property; a failure prints the seed that draws them again. */
export type Draw = fc.GeneratorValue

/** Any text that is Unicode: empty, beyond the basic plane, with quotes, with U+0000. */
const text = () => fc.string({ unit: 'binary', maxLength: 8 })
const u64 = () => fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.constant(2n ** 64n - 1n))
const count = () => fc.oneof(fc.nat({ max: 9 }), fc.maxSafeNat())
/** Few times, so that many are equal. */
const time = () => fc.nat({ max: 20 }).map((n) => START + n)
const maybe = <Value>(any: fc.Arbitrary<Value>) => fc.option(any, { nil: null })
const provider = () => fc.nat({ max: 3 }).map(providerOf)
const worker = () => text().map((id) => id as WorkerId)
const caller = () => fc.nat({ max: 3 }).map(callerOf)
const kind = () => fc.constantFrom(...KIND_NAMES)
const bytes = () => fc.uint8Array({ maxLength: 40 })
const few = <Value>(any: fc.Arbitrary<Value>) => fc.array(any, { maxLength: 3 })

/**
 * A batch for a store in the state of `plain`. Most are such as an engine writes; some break a rule,
 * and have to be refused as a whole.
 */
export function anyBatch(draw: Draw, plain: PlainStore): WriteBatch {
  const known = plain.read.jobs({ afterSeq: 0, limit: 1_000 })
  const numbers = [...new Set(draw(few, fc.nat({ max: 30 })))]
  const isFresh = (n: number) => known.every((job) => job.seq !== n + 1)
  const wanted = draw(fc.boolean) ? numbers.filter(isFresh) : numbers
  const newJobs = wanted.map((n) => newJob(anyJob(draw, n + 1), draw(bytes)))
  const alive = known.filter((job) => !hasEnded(job.status))
  const changed = alive.filter(() => draw(fc.boolean))
  const jobs = changed.map((job) => ({ id: job.id, ...anyState(draw) }))
  const rows = [...alive, ...newJobs.map(({ row }) => row)]
  return batchOf({
    newJobs,
    jobs,
    leases: rows.filter(() => draw(fc.boolean)).flatMap((job) => anyLease(draw, plain, job.seq)),
    providers: [...new Set(draw(few, fc.nat({ max: 3 })))].map((n) => anyProvider(draw, n)),
    results: rows.filter(() => draw(fc.nat, { max: 5 }) === 0).map((job) => anyResult(draw, job)),
    shares: draw(() =>
      fc.uniqueArray(fc.record({ kind: kind(), caller: caller(), finish: maybe(u64()) }), {
        maxLength: 3,
        selector: (share) => `${share.kind} ${share.caller}`,
      }),
    ),
    rounds: draw(fc.boolean) ? [anyRound(draw)] : [],
    journal: anyEntries(draw, plain),
    meta: draw(() => fc.dictionary(text(), text(), { maxKeys: 3 })),
    pruneEndedBefore: draw(() => maybe(time())),
  })
}

function anyJob(draw: Draw, n: number): JobRow {
  const facts = draw(() =>
    fc.record({
      kind: kind(),
      caller: caller(),
      tier: text(),
      fee: u64(),
      sizeBytes: count(),
      model: maybe(text()),
      shots: count(),
      depthHint: count(),
      units: count(),
      regions: maybe(few(text())),
      ttlAbsSecs: maybe(count()),
      enqueueTs: time(),
      chainId: u64(),
      enqueueHeight: u64(),
      txHash: fc.nat({ max: 60 }).map((tx) => named('tx', tx)),
    }),
  )
  return sampleJob(n, { ...facts, ...anyState(draw) })
}

function anyState(draw: Draw): JobState {
  const status = draw(fc.constantFrom, ...JOB_STATUSES)
  const endedAt = hasEnded(status) ? draw(time) : null
  return draw(() =>
    fc.record({
      status: fc.constant(status),
      providerId: maybe(provider()),
      attempt: maybe(count()),
      retries: count(),
      declines: count(),
      notBefore: maybe(time()),
      firstAssignedAt: maybe(time()),
      endedAt: fc.constant(endedAt),
      reason: maybe(fc.constantFrom('ttl_abs' as const, 'declined' as const)),
      proofAwaitedSince: maybe(time()),
      denials: few(fc.tuple(provider(), time())),
    }),
  )
}

/** What became of the newest lease of a job, or the next one, or both. */
function anyLease(draw: Draw, plain: PlainStore, n: number): LeaseRow[] {
  const newest = plain.read.leases(jobIdOf(n)).at(-1)
  const statuses = draw(fc.boolean) ? LEASE_STATUSES : LEASE_STATUSES.filter((s) => !isLive(s))
  const change = () =>
    draw(() =>
      fc.record({
        status: fc.constantFrom(...statuses),
        providerId: provider(),
        tStart: time(),
        tDeadline: time(),
        renewals: count(),
        isAcked: fc.boolean(),
        digest: maybe(fc.nat({ max: 9 }).map(hashOf)),
        ackTimeoutMs: count(),
        workerId: maybe(worker()),
      }),
    )
  const old = newest === undefined || !isLive(newest.status) ? [] : [{ ...newest, ...change() }]
  const attempt = newest === undefined ? 0 : newest.attempt + 1
  const next = draw(fc.boolean) ? [sampleLease(n, { ...change(), attempt })] : []
  return [...next, ...old]
}

function anyProvider(draw: Draw, n: number): ProviderRow {
  const given = draw(() =>
    fc.record({
      status: fc.constantFrom(...PROVIDER_STATUSES),
      capabilities: fc.subarray([...KIND_NAMES]),
      models: few(text()),
      maxDepth: maybe(count()),
      maxShots: maybe(count()),
      region: maybe(text()),
      allow: maybe(few(caller())),
      deny: few(caller()),
      leasesMax: maybe(count()),
      stake: u64(),
      attestation: maybe(fc.record({ notBefore: time(), notAfter: time() })),
      creditedAt: maybe(time()),
      cooldownUntil: maybe(time()),
      classCooldowns: few(fc.record({ kind: kind(), model: maybe(text()), until: time() })),
      units: few(fc.tuple(kind(), count(), count())),
      workers: maybe(few(fc.record({ id: worker(), slots: count(), goneSince: maybe(time()) }))),
    }),
  )
  return sampleProvider(n, given)
}

function anyResult(draw: Draw, job: JobRow) {
  const given = draw(() =>
    fc.record({ units: count(), output: maybe(bytes()), meta: maybe(bytes()) }),
  )
  return { ...sampleResult(job.seq, given), leaseId: leaseIdOf(draw(fc.nat)) }
}

function anyRound(draw: Draw) {
  const given = draw(() =>
    fc.record({ kind: kind(), batchSize: count(), providers: few(provider()) }),
  )
  return sampleRound(draw(fc.nat, { max: 40 }), given)
}

/** The next entries; now and then one whose number is taken, or whose chain is broken. */
function anyEntries(draw: Draw, plain: PlainStore): JournalRow[] {
  const last = plain.read.journal(0, 10_000).at(-1)?.seq ?? 0
  const first = draw(fc.nat, { max: 20 }) === 0 ? Math.max(1, last) : last + 1
  return draw(few, fc.nat({ max: 30 })).map((n, i) =>
    sampleEntry(first + i, {
      ...draw(() =>
        fc.record({
          actor: text(),
          action: text(),
          subject: fc.oneof(text(), fc.constant(jobIdOf(n))),
          jobId: maybe(fc.constant(jobIdOf(n))),
          details: fc.dictionary(text(), details(), { maxKeys: 3 }),
        }),
      ),
      ...(draw(fc.nat, { max: 5 }) === 0 ? { prevHash: hashOf(draw(fc.nat)) } : {}),
    }),
  )
}

/** Values that canonical CBOR gives back as they were. */
function details() {
  const large = fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n })
  return fc.oneof(text(), fc.maxSafeInteger(), fc.boolean(), fc.constant(null), large, bytes())
}
