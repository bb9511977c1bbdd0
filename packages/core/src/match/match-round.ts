import type { AdmitRound } from '../admit/admit-round.ts'
import type { Pauses } from '../admit/pauses.ts'
import { epochOf, type RequesterWindows } from '../admit/quotas.ts'
import type { Caller, Seed } from '../encoding/ids.ts'
import { KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { Batch, Verdict, WaitingQueue } from '../order/waiting-queue.ts'
import type { Policy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import type { Terms } from './eligibility.ts'
import type { ProviderPool } from './provider-pool.ts'
import { type Assignment, ProviderSearch } from './provider-search.ts'

export interface RoundInput {
  readonly nowMs: number
  readonly seed: Seed
  readonly policy: Policy
  /** The waiting jobs. Assigned jobs leave them. */
  readonly queues: ReadonlyMap<KindName, WaitingQueue>
  readonly pool: ProviderPool
  readonly windows: RequesterWindows
  /** If absent, nothing needs admission. */
  readonly admit?: AdmitRound | null
  /** If absent, nothing is paused. */
  readonly pauses?: Pauses | undefined
}

/** The decisions of a round for one kind, and the data to explain them. */
export interface KindRound {
  readonly kind: KindName
  readonly batch: Batch
  /** In the order in which they were made. */
  readonly assignments: readonly Assignment[]
  /** The first `count` providers in shuffled order. */
  readonly providerOrder: (count: number) => readonly Provider[]
  /** All providers by `stake·health`, equal ones together: the order that counts under `score`. */
  readonly ranking: () => readonly (readonly Provider[])[]
}

/**
 * One round (MATCH-1). For each kind in turn it takes the first jobs that any provider can take, and gives each to
 * the first provider that fits. The decisions are a function of the input alone. Assigned jobs are out of the
 * queues afterwards; the caller issues the leases.
 */
export function matchRound(input: RoundInput): KindRound[] {
  const { nowMs, seed, queues, pool, pauses } = input
  const terms = roundTerms(input)
  const given = new Map<Provider, number>()
  const rounds: KindRound[] = []
  for (const kind of KIND_NAMES) {
    const queue = queues.get(kind)
    if (queue === undefined || queue.size === 0) continue
    if (pauses?.holdsKind(kind) === true) {
      // Backoffs end all the same, or the engine would wake for them again and again.
      queue.advance(nowMs)
      continue
    }
    const search = new ProviderSearch({ kind, terms, pool, seed, given })
    const { batch, matcher } = matchBatch(queue, search, { terms, pauses })
    const assignments = matcher.made
    queue.closeBatch(
      batch,
      assignments.map(({ job }) => job),
    )
    input.admit?.endKind()
    const providerOrder = (count: number) => firstOf(search, count)
    const ranking = () => matcher.ranked()
    rounds.push({ kind, batch, assignments, providerOrder, ranking })
  }
  return rounds
}

/**
 * Takes a batch and matches it. Under fair shares with few free leases, it first tries a batch of only that many
 * jobs. If each of them gets a lease, no job behind them could, so most waiting jobs are not looked at (MATCH-2).
 * Under `score` there may be ties, which must not be cut.
 */
function matchBatch(
  queue: WaitingQueue,
  search: ProviderSearch,
  { terms, pauses }: { readonly terms: RoundTerms; readonly pauses: Pauses | undefined },
): { readonly batch: Batch; readonly matcher: BatchMatcher } {
  const { nowMs, policy, admit } = terms
  const size = policy.queue.batchSize
  const matcher = new BatchMatcher(search, terms)
  const free = policy.match.fairness === 'tenant' ? search.freeLeases(size) : size
  if (free < size) {
    admit?.startBatch()
    const batch = queue.takeBatch(nowMs, free, verdictsOf(search, pauses))
    admit?.startMatch()
    matcher.run(batch)
    if (matcher.made.length === batch.jobs.length) return { batch, matcher }
    matcher.startAgain()
    queue.closeBatch(batch, [])
  }
  admit?.startBatch()
  const batch = queue.takeBatch(nowMs, size, verdictsOf(search, pauses))
  admit?.startMatch()
  matcher.run(batch)
  return { batch, matcher }
}

/** A paused group is passed over as one that fits nobody is, so it costs a round one look (PAUSE-1). */
function verdictsOf(
  search: ProviderSearch,
  pauses: Pauses | undefined,
): (job: QueuedJob) => Verdict {
  const verdicts = search.verdicts()
  if (pauses === undefined || pauses.isEmpty) return verdicts
  return (job) => (pauses.holding(job.shape) === null ? verdicts(job) : 'pass-group')
}

/** The terms of a round. Its own assignments count against a caller's window at once. */
export interface RoundTerms extends Terms {
  readonly count: (caller: Caller, by: 1 | -1) => void
}

export function roundTerms({
  nowMs,
  policy,
  windows,
  admit = null,
}: Pick<RoundInput, 'nowMs' | 'policy' | 'windows' | 'admit'>): RoundTerms {
  const window = policy.queue.quotas.requesterWindow
  const inRound = new Map<Caller, number>()
  return {
    nowMs,
    policy,
    epoch: epochOf(nowMs, policy),
    admit,
    isWindowFull: (caller) =>
      window !== null &&
      windows.count(caller, nowMs, policy) + (inRound.get(caller) ?? 0) >= window.jobs,
    count: (caller, by) => {
      if (window !== null) inRound.set(caller, (inRound.get(caller) ?? 0) + by)
    },
  }
}

/** Gives jobs to providers one by one, in the order of the policy. */
export class BatchMatcher {
  readonly #search: ProviderSearch
  readonly #terms: RoundTerms
  readonly #made: Assignment[] = []
  /** `rotate`: the index after the provider that was assigned last. */
  #behind = 0

  constructor(search: ProviderSearch, terms: RoundTerms) {
    this.#search = search
    this.#terms = terms
  }

  /** In the order in which they were made. */
  get made(): readonly Assignment[] {
    return this.#made
  }

  run({ jobs, picks }: Batch): void {
    const { fairness, ties } = this.#terms.policy.match
    for (let i = 0; i < jobs.length; ) {
      const first = jobs[i] as QueuedJob
      let end = i + 1
      if (fairness === 'score' && !picks.has(first.id)) {
        while (end < jobs.length && isTied(first, jobs[end] as QueuedJob, ties, picks)) end++
      }
      if (end > i + 1) this.#assignTie(jobs.slice(i, end))
      else if (!this.#assign(first)) this.#search.claim(first)
      i = end
    }
  }

  /** Takes all assignments back. */
  startAgain(): void {
    this.#takeBackTo(0, 0)
  }

  /** Steps 3 and 5: the job goes to the first provider that fits, in the order of the policy. */
  #assign(job: QueuedJob): boolean {
    const { order } = this.#terms.policy.match
    if (order === 'score') {
      for (const equals of this.ranked()) {
        const [pair] = this.#search.pairsByHash([job], equals)
        if (pair === undefined) continue
        this.#make(pair)
        return true
      }
      return false
    }
    const start = order === 'rotate' ? this.#behind : 0
    let index = this.#search.findFrom(start, job)
    if (index < 0 && start > 0) index = this.#search.findFrom(0, job)
    if (index < 0) return false
    this.#make({ job, provider: this.#search.shuffle.at(index) })
    this.#behind = index + 1
    return true
  }

  /**
   * Step 4: jobs that differ only in their id. If they cannot all be assigned, the pair hash decides instead of
   * the id, which a requester could grind (MATCH-8).
   */
  #assignTie(jobs: readonly QueuedJob[]): void {
    const made = this.#made.length
    const behind = this.#behind
    if (jobs.every((job) => this.#assign(job))) return
    this.#takeBackTo(made, behind)

    const left = new Set(jobs)
    for (const { providers, index } of this.#tieOrder(behind)) {
      if (left.size === 0) break
      // A pair that does not fit now will not fit later in the round, so one pass is enough.
      for (const pair of this.#search.pairsByHash(left, providers)) {
        if (!left.has(pair.job) || !this.#search.fits(pair)) continue
        this.#make(pair)
        left.delete(pair.job)
        this.#behind = index + 1
      }
    }
    for (const job of left) this.#search.claim(job)
  }

  /** The order of asking in a contested tie. Under `score`, equal providers form one entry. */
  *#tieOrder(behind: number): IterableIterator<{ providers: readonly Provider[]; index: number }> {
    const { order } = this.#terms.policy.match
    if (order === 'score') {
      for (const providers of this.ranked()) yield { providers, index: 0 }
      return
    }
    const { shuffle } = this.#search
    const start = order === 'rotate' ? behind : 0
    for (let i = 0; i < shuffle.length; i++) {
      const index = (start + i) % shuffle.length
      yield { providers: [shuffle.at(index)], index }
    }
  }

  #ranking: readonly (readonly Provider[])[] | null = null
  ranked(): readonly (readonly Provider[])[] {
    this.#ranking ??= this.#search.ranked()
    return this.#ranking
  }

  #make(assignment: Assignment): void {
    this.#made.push(assignment)
    this.#search.book(assignment, 1)
    this.#terms.count(assignment.job.caller, 1)
  }

  #takeBackTo(count: number, behind: number): void {
    for (const assignment of this.#made.splice(count)) {
      this.#search.book(assignment, -1)
      this.#terms.count(assignment.job.caller, -1)
    }
    this.#behind = behind
    this.#search.forget()
  }
}

/**
 * True for equal score, `ready_ts` and, where it counts, `enqueue_seq`. A starvation pick is in no tie and ends
 * one.
 */
function isTied(
  first: QueuedJob,
  job: QueuedJob,
  ties: Policy['match']['ties'],
  picks: Batch['picks'],
): boolean {
  return (
    job.staticScore === first.staticScore &&
    job.readyTs === first.readyTs &&
    (ties === 'pair_hash' || job.enqueueSeq === first.enqueueSeq) &&
    !picks.has(job.id)
  )
}

/** The first providers in shuffled order. */
export function firstOf({ shuffle }: ProviderSearch, count: number): readonly Provider[] {
  const length = Math.min(count, shuffle.length)
  const first: Provider[] = []
  for (let index = 0; index < length; index++) first.push(shuffle.at(index))
  return first
}
