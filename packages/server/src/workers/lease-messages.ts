import type {
  FairleadError,
  LeaseId,
  LeaseListener,
  LeaseOffer,
  LeaseTimes,
  LostReason,
  ProviderNotice,
} from '@fairlead/core'
import type { Assignment, NotificationOf } from '@fairlead/protocol'
import { assignmentRecord, leaseTimesRecord } from '../records/lease-record.ts'

type Lost = NotificationOf<'leases.lost'>['leases'][number]
type Held = NotificationOf<'leases.held'>['leases']

/** What a worker is to be told, put together: leases that come together go together. */
export interface LeaseMessages {
  readonly offered: readonly Assignment[]
  /** Null: nothing was said of it. */
  readonly held: Held | null
  readonly lost: readonly Lost[]
  /** Undefined: it is what was said before. */
  readonly notice: ProviderNotice | null | undefined
}

/** Of the payloads in one message. A worker may have any number of slots, and its work be of any length. */
const OFFERED_BYTES_MAX = 1_048_576

/**
 * Gathers what the engine tells a worker until it can be sent. A lease that is lost before its worker has
 * heard of it is not mentioned at all.
 */
export class LeaseInbox implements LeaseListener {
  readonly #wake: () => void
  readonly #closed: (reason: FairleadError) => void
  readonly #offers = new Map<LeaseId, Heard<LeaseOffer>>()
  #held: Heard<readonly LeaseTimes[]> | null = null
  readonly #lost: Lost[] = []
  #notice: ProviderNotice | null = null
  #isNoticeNew = false

  constructor(wake: () => void, closed: (reason: FairleadError) => void) {
    this.#wake = wake
    this.#closed = closed
  }

  get isEmpty(): boolean {
    const hasLeases = this.#offers.size > 0 || this.#held !== null || this.#lost.length > 0
    return !hasLeases && !this.#isNoticeNew
  }

  /** Whether there is anything that a worker has to know at once; that it holds nothing can wait. */
  get isUrgent(): boolean {
    return this.#offers.size > 0 || this.#lost.length > 0 || (this.#held?.said.length ?? 0) > 0
  }

  /** What keeps the provider from getting work, as it was heard last; it is then no news any more. */
  takeNotice(): ProviderNotice | null {
    this.#isNoticeNew = false
    return this.#notice
  }

  offer(offer: LeaseOffer): void {
    this.#offers.set(offer.leaseId, heard(offer))
    this.#wake()
  }

  held(leases: readonly LeaseTimes[]): void {
    // It says all there is to say of what was acked; offers that are still open come anew.
    this.#offers.clear()
    this.#lost.length = 0
    this.#held = heard(leases)
    this.#wake()
  }

  lost(leaseId: LeaseId, reason: LostReason): void {
    if (this.#offers.delete(leaseId)) return
    this.#lost.push({ lease_id: leaseId, reason })
    this.#wake()
  }

  notice(notice: ProviderNotice | null): void {
    if (notice?.message === this.#notice?.message) return
    this.#notice = notice
    this.#isNoticeNew = true
    this.#wake()
  }

  closed(reason: FairleadError): void {
    this.#closed(reason)
  }

  /**
   * What came in since the last call. In order: what is held, what is new, what is lost, the notice. If the work that is
   * offered is more than fits, the rest of it is there for the next call.
   */
  take(): LeaseMessages {
    const held = this.#held
    const messages = {
      held: held?.said.map((times) => leaseTimesRecord(times, waitedMs(held))) ?? null,
      offered: this.#takeOffers(),
      lost: this.#lost.splice(0),
      notice: this.#isNoticeNew ? this.takeNotice() : undefined,
    }
    this.#held = null
    return messages
  }

  #takeOffers(): Assignment[] {
    const taken: Assignment[] = []
    let bytes = 0
    for (const offer of this.#offers.values()) {
      const { said } = offer
      bytes += (said.payload as Uint8Array).length
      if (taken.length > 0 && bytes > OFFERED_BYTES_MAX) break
      taken.push(assignmentRecord(said, waitedMs(offer)))
      this.#offers.delete(said.leaseId)
    }
    return taken
  }
}

/** What the engine said, and when that was on the clock of this process. */
interface Heard<Said> {
  readonly said: Said
  readonly atMs: number
}

function heard<Said>(said: Said): Heard<Said> {
  return { said, atMs: performance.now() }
}

/** For how long it has not been passed on: by so much less is left of its times. */
function waitedMs({ atMs }: Heard<unknown>): number {
  return Math.floor(performance.now() - atMs)
}
