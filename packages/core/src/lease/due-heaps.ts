import { IndexedHeap } from '../collections/indexed-heap.ts'
import { LazyHeap } from '../collections/lazy-heap.ts'
import type { Job } from '../market/job.ts'
import { HEAP_BITS, idBefore } from '../order/queued-job.ts'
import { ttlAbsAt, ttlRelAt } from '../outcome/ttl.ts'
import type { Policy } from '../policy/policy.ts'
import { type Provider, silenceDueAt } from '../registry/provider.ts'
import { lostDueAt } from './hold-lease.ts'
import { ackDueAt, type Lease } from './lease.ts'

/**
 * All deadlines, one heap for each kind. The items themselves are in the heaps, so a deadline costs a record but
 * no object. Deadlines of the same time fire in the order of the fields below, and then by id (STATE-6).
 */
export class DueHeaps {
  readonly ttlAbs: LazyHeap<Job>
  readonly ttlRel: LazyHeap<Job>
  readonly leaseDeadline: LazyHeap<Lease>
  /** Acked leases whose attempt has a longest time. They fall due together with the deadlines. */
  readonly timeout: LazyHeap<Lease>
  readonly ack: LazyHeap<Lease>
  /** Leases whose worker has left. */
  readonly lost: LazyHeap<Lease>
  /** A heap with movable items: a heartbeat may bring a provider's next step of silence nearer. */
  readonly silence: IndexedHeap<Provider>

  readonly #policy: () => Policy

  constructor(policy: () => Policy) {
    this.#policy = policy
    const jobs = (bitPair: number, keyOf: (job: Job) => number): LazyHeap<Job> =>
      new LazyHeap<Job>({ bitPair, keyOf, before: idBefore })
    this.ttlAbs = jobs(HEAP_BITS.ttlAbs, (job) => ttlAbsAt(job, policy()))
    this.ttlRel = jobs(HEAP_BITS.ttlRel, (job) => ttlRelAt(job, policy()))
    this.leaseDeadline = new LazyHeap<Lease>({
      bitPair: 0,
      keyOf: (lease) => lease.tDeadline,
      before: idBefore,
    })
    this.timeout = new LazyHeap<Lease>({
      bitPair: 3,
      keyOf: (lease) => lease.timeoutAt ?? Number.POSITIVE_INFINITY,
      before: idBefore,
    })
    this.ack = new LazyHeap<Lease>({ bitPair: 1, keyOf: ackDueAt, before: idBefore })
    this.lost = new LazyHeap<Lease>({
      bitPair: 2,
      keyOf: (lease) => lostDueAt(lease, policy()),
      before: idBefore,
    })
    this.silence = new IndexedHeap<Provider>((a, b) => {
      const [dueA, dueB] = [silenceDueAt(a, policy()), silenceDueAt(b, policy())]
      return dueA < dueB || (dueA === dueB && a.id < b.id)
    })
  }

  /** No deadline but one of silence falls due before this time; see `LazyHeap.floor`. */
  get floor(): number {
    const { ttlAbs, ttlRel, leaseDeadline, timeout, ack, lost } = this
    return Math.min(
      Math.min(ttlAbs.floor, ttlRel.floor, leaseDeadline.floor),
      Math.min(timeout.floor, ack.floor, lost.floor),
    )
  }

  /** Enters the ends of a job's life that it has. Ends that never come would only take room in a heap. */
  enterTtls(job: Job): void {
    if (ttlAbsAt(job, this.#policy()) < Number.POSITIVE_INFINITY) this.ttlAbs.enter(job)
    if (ttlRelAt(job, this.#policy()) < Number.POSITIVE_INFINITY) this.ttlRel.enter(job)
  }

  leaveTtls(job: Job): void {
    this.ttlAbs.leave(job)
    this.ttlRel.leave(job)
  }

  /** Call this after a change of policy, or of many deadlines at once. */
  rebuild(): void {
    this.ttlAbs.rebuild()
    this.ttlRel.rebuild()
    this.leaseDeadline.rebuild()
    this.timeout.rebuild()
    this.ack.rebuild()
    this.lost.rebuild()
    this.silence.rebuild()
  }
}
