import type {
  FairleadError,
  LeaseId,
  LeaseListener,
  LeaseOffer,
  LeaseSession,
  LeaseTimes,
  LostReason,
  ProviderId,
  ProviderNotice,
  WorkerId,
} from '@fairlead/core'
import type { Engine } from '@fairlead/engine'

/** A worker that does nothing by itself: it notes what it is told, and the test acts for it. */
export class ManualWorker implements LeaseListener {
  readonly id: WorkerId
  readonly offers: LeaseOffer[] = []
  readonly lostLeases: (readonly [LeaseId, LostReason])[] = []
  heldLeases: readonly LeaseTimes[] = []
  /** All that were told, in order. */
  readonly notices: (ProviderNotice | null)[] = []
  closedBy: FairleadError | null = null
  #session: LeaseSession | null = null

  private constructor(id: WorkerId) {
    this.id = id
  }

  static async connect(
    engine: Engine,
    providerId: ProviderId,
    given: {
      readonly id?: string
      readonly slots?: number
      readonly holds?: readonly LeaseId[] | null
    } = {},
  ): Promise<ManualWorker> {
    const { id = 'w-1', slots = 16, holds = [] } = given
    const worker = new ManualWorker(id as WorkerId)
    const hello = { providerId, workerId: worker.id, slots, holds }
    worker.#session = await engine.leaseSource().open(hello, worker)
    return worker
  }

  get session(): LeaseSession {
    if (this.#session === null) throw new Error('the worker is not connected')
    return this.#session
  }

  /** Its newest offer. */
  get offered(): LeaseOffer {
    const offer = this.offers.at(-1)
    if (offer === undefined) throw new Error(`${this.id} was offered nothing`)
    return offer
  }

  offer(offer: LeaseOffer): void {
    this.offers.push(offer)
  }

  held(leases: readonly LeaseTimes[]): void {
    this.heldLeases = leases
  }

  lost(leaseId: LeaseId, reason: LostReason): void {
    this.lostLeases.push([leaseId, reason])
  }

  notice(notice: ProviderNotice | null): void {
    this.notices.push(notice)
  }

  closed(reason: FairleadError): void {
    this.closedBy = reason
  }
}
