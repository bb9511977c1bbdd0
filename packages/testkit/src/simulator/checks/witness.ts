import type {
  LeaseId,
  LeaseOffer,
  LeaseRow,
  LeaseTimes,
  ProviderId,
  WorkerId,
} from '@fairlead/core'
import type { EngineEvent } from '@fairlead/engine'
import { isLiveStatus } from '../ledger/rules/own-rules.ts'
import type { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'

/** Who is told. */
interface Ear {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
}

/** Hears what the engine says of itself, and holds it against what is stored at that moment. */
export class Witness {
  readonly #disk: SimDisk
  /** The last event heard. */
  seq = 0

  constructor(disk: SimDisk) {
    this.#disk = disk
  }

  heard(event: EngineEvent): void {
    if (event.seq !== this.seq + 1) {
      broken('event-stream', `event ${event.seq} was heard after ${this.seq}`)
    }
    this.seq = event.seq
    const row = this.#disk.journal[event.seq - 1]
    if (row === undefined)
      broken('durable', `event ${event.seq} (${event.type}) is told and not stored`)
    if (row.action !== event.type || row.at !== event.at) {
      broken('event-stream', `event ${event.seq} is ${event.type}, stored is ${row.action}`)
    }
  }

  /** A lease is offered to its own worker, with the work that was asked for. */
  offered(offer: LeaseOffer, { providerId, workerId }: Ear): void {
    const row = this.#disk.leases.get(offer.leaseId)
    if (row === undefined) return this.#refuseUnstored(offer.leaseId)
    const isOwn = row.providerId === providerId && row.workerId === workerId
    if (!isOwn || row.jobId !== offer.jobId || row.attempt !== offer.attempt) {
      broken(
        'offers',
        `lease ${offer.leaseId} is offered to ${workerId} as something else than it is`,
      )
    }
    const payload = this.#disk.payloads.get(offer.jobId)
    if (payload === undefined || Buffer.compare(payload, offer.payload as Uint8Array) !== 0) {
      broken('offers', `lease ${offer.leaseId} is offered with another payload`)
    }
  }

  held(leases: readonly LeaseTimes[], { workerId }: Ear): void {
    for (const { leaseId } of leases) {
      const row = this.#disk.leases.get(leaseId)
      if (row === undefined) this.#refuseUnstored(leaseId)
      // One that was moved by the same batch is lost, as the worker hears when it is connected.
      else if (isHeldByOther(row, workerId) && !this.#disk.everMoved.has(leaseId)) {
        broken('offers', `${workerId} is told that it holds lease ${leaseId} of ${row.workerId}`)
      }
    }
  }

  lost(leaseId: LeaseId): void {
    const row = this.#disk.leases.get(leaseId)
    if (row !== undefined && isLiveStatus(row.status)) {
      broken('durable', `lease ${leaseId} is called lost and stored as ${row.status}`)
    }
  }

  /** What hung long enough may be deleted by the batch that brings it. */
  #refuseUnstored(leaseId: LeaseId): void {
    if (this.#disk.everIssued.has(leaseId)) return
    broken('durable', `lease ${leaseId} is told of and not stored`)
  }
}

function isHeldByOther({ status, workerId }: LeaseRow, by: WorkerId): boolean {
  return isLiveStatus(status) && workerId !== by
}
