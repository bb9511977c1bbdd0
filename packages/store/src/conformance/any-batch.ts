import {
  encodeCbor,
  type FailureRow,
  hasEnded,
  isLive,
  JOB_STATUSES,
  type JobRow,
  KIND_NAMES,
  LEASE_STATUSES,
  type LeaseRow,
  PROVIDER_STATUSES,
  REFUSALS,
  type ResultRow,
  type WorkerId,
} from '@fairlead/core'
import type {
  JobFilter,
  JobState,
  JournalRecord,
  ProviderRow,
  Tables,
  WriteBatch,
} from '@fairlead/core/internal'
import fc from 'fast-check'
import {
  batchOf,
  callerOf,
  hashOf,
  jobIdOf,
  leaseIdOf,
  named,
  newJob,
  providerOf,
  SAMPLE_CLAIM,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
  sampleSettlement,
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
const caller = () => fc.nat({ max: CALLERS - 1 }).map(callerOf)
const kind = () => fc.constantFrom(...KIND_NAMES)
const bytes = () => fc.uint8Array({ maxLength: 40 })
/** Any bytes, or what a registration says: of whom, and where. */
const payload = () =>
  fc.oneof(
    bytes(),
    fc.record({ user_id: text(), provider: text() }).map((said) => encodeCbor(said)),
  )
const few = <Value>(any: fc.Arbitrary<Value>) => fc.array(any, { maxLength: 3 })

/** Jobs have one of so many ids, which come back once a job was deleted. */
const IDS = 31
/** Far more than there are ids: a number of acceptance tells its batch, and never comes back. */
const NUMBERS = 100
const CALLERS = 4
const TXS = 61

/** What jobs of any batch can be called. */
export const ANY_IDS = range(IDS).map(jobIdOf)
export const ANY_TX = range(CALLERS).flatMap((n) =>
  range(TXS).map((tx) => ({ caller: callerOf(n), txHash: txOf(tx) })),
)

/**
 * The k-th batch for tables in the state of `model`. Most are such as an engine writes; some break a
 * rule, and have to be refused as a whole.
 */
export async function anyBatch(draw: Draw, model: Tables, k: number): Promise<WriteBatch> {
  const known = await model.read.jobs({ afterSeq: 0, limit: 1_000 })
  const alive = known.filter((job) => !hasEnded(job.status))
  const numbers = [...new Set(draw(few, fc.nat({ max: IDS - 1 })))]
  const isFresh = (n: number) => known.every((job) => job.id !== jobIdOf(n))
  const wanted = draw(fc.boolean) ? numbers.filter(isFresh) : numbers
  const newJobs = wanted.map((n) => {
    const seq = isSeldom(draw) ? alive[0]?.seq : undefined
    return newJob(anyJob(draw, n, seq ?? NUMBERS * k + n + 1), draw(payload))
  })
  const jobs = alive
    .filter(() => draw(fc.boolean))
    .map(({ id, seq }) => ({ id: isSeldom(draw) ? jobIdOf(IDS) : id, seq, ...anyState(draw) }))
  const rows = [...alive, ...newJobs.map(({ row }) => row)]
  const leases: WriteBatch['leases'][number][] = []
  const newLeases: LeaseRow[] = []
  for (const job of rows.filter(() => draw(fc.boolean))) {
    // A new job may have the id of one that is deleted in this batch, but none of its leases.
    const old = alive.includes(job) ? await model.read.leases(job.id) : []
    const any = anyLeases(draw, job, old.at(-1))
    leases.push(...any.changed)
    newLeases.push(...any.made)
  }
  // The last number of the batch is that of no job.
  const seqs = [...known, ...rows].map(({ seq }) => seq).concat(NUMBERS * (k + 1))
  const { lastEntry } = await model.load()
  return batchOf({
    newJobs,
    jobs,
    newLeases,
    leases,
    providers: [...new Set(draw(few, fc.nat({ max: 3 })))].map((n) => anyProvider(draw, n)),
    results: rows.filter(() => draw(fc.nat, { max: 5 }) === 0).map((job) => anyResult(draw, job)),
    failures: rows.filter(() => draw(fc.boolean)).flatMap((job) => anyFailures(draw, job)),
    shares: draw(() =>
      fc.uniqueArray(fc.record({ kind: kind(), caller: caller(), finish: maybe(u64()) }), {
        maxLength: 3,
        selector: (share) => `${share.kind} ${share.caller}`,
      }),
    ),
    lanes: draw(() =>
      fc.uniqueArray(
        fc.record({
          lane: fc.constantFrom('limit', 'org'),
          key: text(),
          value: maybe(fc.uint8Array({ maxLength: 9 })),
        }),
        { maxLength: 3, selector: ({ lane, key }) => `${lane} ${key}` },
      ),
    ),
    clearedLanes: isSeldom(draw) ? ['org'] : [],
    rounds: draw(fc.boolean) ? [anyRound(draw)] : [],
    settlements: draw(fc.boolean) ? [anySettlement(draw, k)] : [],
    journal: anyEntries(draw, lastEntry, seqs),
    meta: draw(() => fc.dictionary(text(), text(), { maxKeys: 3 })),
    eraseEnded: draw(fc.boolean) ? { from: draw(time), before: draw(time) } : null,
    pruneEndedBefore: maybeTime(draw),
    pruneResultsBefore: maybeTime(draw),
    prunedJobs: draw(fc.boolean)
      ? [
          {
            seqs: draw(() => fc.array(fc.nat({ max: 3 * NUMBERS }), { maxLength: 3 })),
            resultsBefore: maybeTime(draw),
          },
        ]
      : [],
    cutJournalAt: isSeldom(draw) ? draw(fc.nat, { max: lastEntry + 2 }) : null,
  })
}

function maybeTime(draw: Draw): number | null {
  return draw(fc.boolean) ? draw(time) : null
}

function isSeldom(draw: Draw): boolean {
  return draw(fc.nat, { max: 40 }) === 0
}

function range(length: number): number[] {
  return Array.from({ length }, (_, n) => n)
}

function txOf(n: number): string {
  return named('tx', n)
}

function anyJob(draw: Draw, n: number, seq: number): JobRow {
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
      tokens: count(),
      regions: maybe(few(text())),
      needs: maybe(
        fc.record({
          precision: maybe(few(text())),
          widthHint: count(),
          gates: maybe(few(text())),
        }),
      ),
      ttlAbsSecs: maybe(count()),
      enqueueTs: time(),
      chainId: u64(),
      enqueueHeight: u64(),
      txHash: fc.nat({ max: TXS - 1 }).map(txOf),
      origin: maybe(fc.record({ traceparent: text() })),
      options: maybe(
        fc.record(
          { runAt: time(), tags: few(text()), dedupeKey: text(), priority: fc.integer() },
          { requiredKeys: [] },
        ),
      ),
    }),
  )
  return sampleJob(n, { seq, ...facts, ...anyState(draw) })
}

function anyState(draw: Draw): JobState {
  const statuses = draw(fc.boolean) ? JOB_STATUSES : JOB_STATUSES.filter((s) => !hasEnded(s))
  const status = draw(fc.constantFrom, ...statuses)
  const endedAt = hasEnded(status) ? draw(time) : null
  return draw(() =>
    fc.record({
      status: fc.constant(status),
      providerId: maybe(provider()),
      attempt: maybe(count()),
      retries: count(),
      declines: count(),
      workerLosses: count(),
      notBefore: maybe(time()),
      firstAssignedAt: maybe(time()),
      endedAt: fc.constant(endedAt),
      reason: maybe(fc.constantFrom('ttl_abs' as const, 'declined' as const)),
      proofAwaitedSince: maybe(time()),
      denials: few(fc.tuple(provider(), time())),
      releasedAt: maybe(time()),
    }),
  )
}

/** What became of the newest lease of a job, or the next one, or both. */
function anyLeases(draw: Draw, { id, seq }: JobRow, newest: LeaseRow | undefined) {
  const statuses = draw(fc.boolean) ? LEASE_STATUSES : LEASE_STATUSES.filter((s) => !isLive(s))
  const state = () =>
    draw(() =>
      fc.record({
        status: fc.constantFrom(...statuses),
        tDeadline: time(),
        timeoutAt: maybe(time()),
        renewals: count(),
        isAcked: fc.boolean(),
        digest: maybe(fc.nat({ max: 9 }).map(hashOf)),
        ackTimeoutMs: count(),
        workerId: maybe(worker()),
      }),
    )
  const changed: WriteBatch['leases'][number][] = []
  if (newest !== undefined && (isLive(newest.status) || isSeldom(draw))) {
    const { jobSeq, attempt } = newest
    changed.push({ id: isSeldom(draw) ? leaseIdOf(999) : newest.id, jobSeq, attempt, ...state() })
  }
  const made: LeaseRow[] = []
  if (draw(fc.boolean)) {
    const facts = draw(() =>
      fc.record({ providerId: provider(), tStart: time(), renewalsMax: maybe(count()) }),
    )
    const attempt = newest === undefined || isSeldom(draw) ? 0 : newest.attempt + 1
    const names = { jobId: id, jobSeq: seq, attempt }
    made.push(sampleLease(ANY_IDS.indexOf(id), { ...facts, ...state(), ...names }))
  }
  return { changed, made }
}

function anyProvider(draw: Draw, n: number): ProviderRow {
  const given = draw(() =>
    fc.record({
      status: fc.constantFrom(...PROVIDER_STATUSES),
      capabilities: fc.subarray([...KIND_NAMES]),
      models: few(text()),
      platforms: few(text()),
      maxDepth: maybe(count()),
      maxShots: maybe(count()),
      maxWidth: maybe(count()),
      gates: maybe(few(text())),
      precision: maybe(few(text())),
      region: maybe(text()),
      allow: maybe(few(caller())),
      deny: few(caller()),
      leasesMax: maybe(count()),
      stake: u64(),
      standing: fc.record({
        retired: fc.boolean(),
        jailedUntil: maybe(time()),
        suspended: fc.boolean(),
        paused: fc.boolean(),
        admitted: fc.boolean(),
      }),
      publicKey: maybe(fc.nat({ max: 9 }).map(hashOf)),
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

function anyResult(draw: Draw, { id, seq }: JobRow): ResultRow {
  const given = draw(() =>
    fc.record({
      caller: maybe(caller()),
      leaseId: fc.nat().map(leaseIdOf),
      units: count(),
      at: time(),
      output: maybe(bytes()),
      contentType: maybe(text()),
      meta: maybe(bytes()),
      claim: maybe(fc.constant(SAMPLE_CLAIM)),
    }),
  )
  return sampleResult(seq, { jobId: id, ...given })
}

/** Attempts reach beyond those that are kept; one in many is of a job that is not there. */
function anyFailures(draw: Draw, { id, seq }: JobRow): FailureRow[] {
  const jobId = isSeldom(draw) ? jobIdOf(IDS) : id
  return draw(() =>
    fc.uniqueArray(
      fc.record({
        attempt: fc.nat({ max: 25 }),
        at: time(),
        code: text(),
        message: maybe(text()),
        details: maybe(bytes()),
      }),
      { maxLength: 4, selector: ({ attempt }) => attempt },
    ),
  ).map((given) => sampleFailure(seq, { jobId, ...given }))
}

function anyRound(draw: Draw) {
  const given = draw(() =>
    fc.record({
      kind: kind(),
      batchSize: count(),
      order: fc.constantFrom('first-fit', 'rotate', 'score'),
      providers: few(provider()),
      ranks: maybe(few(count())),
      assignments: few(fc.tuple(fc.nat().map(jobIdOf), provider(), maybe(count()))),
      refusals: few(few(fc.tuple(provider(), fc.constantFrom(...REFUSALS)))),
    }),
  )
  return sampleRound(draw(fc.nat, { max: 40 }), given)
}

/** The epoch follows from the batch, so only a seldom one is there already. */
function anySettlement(draw: Draw, k: number) {
  const parts = draw(() =>
    fc.uniqueArray(fc.record({ providerId: provider(), part: fc.nat({ max: 2 }), body: bytes() }), {
      maxLength: 4,
      selector: ({ providerId, part }) => `${providerId} ${part}`,
    }),
  )
  const epochId = isSeldom(draw) ? 0 : k
  return sampleSettlement(epochId, {
    ...draw(() => fc.record({ due: bytes(), batch: text().map((one) => JSON.stringify(one)) })),
    parts,
  })
}

/** The next entries, about any of these jobs; now and then the first is taken, or not due yet. */
function anyEntries(draw: Draw, last: number, seqs: readonly number[]): JournalRecord[] {
  const mistake = isSeldom(draw) ? draw(fc.constantFrom, -1, 1) : 0
  return draw(few, fc.nat({ max: IDS - 1 })).map((n, i) =>
    sampleEntry(
      last + 1 + mistake + i,
      draw(() =>
        fc.record({
          at: time(),
          actor: text(),
          action: text(),
          subject: fc.oneof(text(), fc.constant(jobIdOf(n))),
          jobSeq: maybe(fc.constantFrom(...seqs)),
          details: fc.dictionary(text(), details(), { maxKeys: 3 }),
        }),
      ),
    ),
  )
}

/** A bigint comes back as a number where it is one. */
function details() {
  const integer = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n - 1n })
  const simple = fc.oneof(text(), fc.maxSafeInteger(), fc.boolean(), fc.constant(null))
  return fc.oneof(simple, integer, fc.bigInt({ min: -9n, max: 9n }), bytes(), few(simple))
}

/** Any filter; models are those of known jobs, so that some fit. */
export function anyFilter(draw: Draw, known: readonly JobRow[]): JobFilter {
  const models = known.flatMap(({ model }) => (model === null ? [] : [model]))
  const digits = draw(fc.integer, { min: 8, max: 64 })
  const idPrefix = draw(fc.constantFrom, ...ANY_IDS).slice(0, 2 + digits)
  const any = draw(() =>
    fc.record(
      {
        status: fc.constantFrom(...JOB_STATUSES),
        providerId: provider(),
        caller: caller(),
        kind: kind(),
        model: models.length === 0 ? text() : fc.constantFrom(...models),
        idPrefix: fc.constant(idPrefix),
        afterHeight: u64(),
        beforeSeq: fc.nat({ max: 8 * NUMBERS }),
      },
      { requiredKeys: [] },
    ),
  )
  // A few fields at a time: all of them together fit hardly any job.
  const given = Object.entries(any).filter(() => draw(fc.nat, { max: 2 }) === 0)
  const afterSeq = draw(fc.nat, { max: 3 * NUMBERS })
  if (isSeldom(draw)) {
    const { idPrefix: _, beforeSeq: __, ...rest } = Object.fromEntries(given) as Partial<JobFilter>
    const ended = {
      after: { at: draw(time), seq: draw(fc.nat, { max: 3 * NUMBERS }) },
      before: draw(time),
    }
    return { ...rest, ended, afterSeq: 0, limit: draw(fc.nat, { max: 9 }) }
  }
  return { ...Object.fromEntries(given), afterSeq, limit: draw(fc.nat, { max: 9 }) }
}
