import type { WorkerId } from '@fairlead/core'
import { broken } from '../../violation.ts'
import { isGone, leasesOf, type ProviderEntry, slotsOf } from '../book.ts'
import type { Details } from './journal-reader.ts'
import type { Moment } from './moment.ts'

/** A worker that was not there is connected. */
export function workerConnected(moment: Moment, details: Details): void {
  const { workers } = moment.provider(details['providerId'])
  const id = details['workerId'] as WorkerId
  if (workers.get(id)?.goneSince === null) broken('transition', `${id} connected twice`)
  workers.set(id, { id, goneSince: null })
}

export function workerLeft(moment: Moment, details: Details): void {
  const { workers } = moment.provider(details['providerId'])
  const id = details['workerId'] as WorkerId
  const worker = workers.get(id)
  if (worker === undefined || worker.goneSince !== null) broken('transition', `${id} left twice`)
  worker.goneSince = moment.at
}

/** A lease that was not acked goes from a worker that left to one with a free slot (WORKER-3). */
export function leaseMoved(moment: Moment, details: Details): void {
  const lease = moment.liveLease(details['leaseId'])
  const workerId = details['workerId'] as WorkerId
  if (lease.acked || !isGone(lease))
    broken('transition', `lease ${lease.id} was moved for no reason`)
  checkWorker(lease.provider, workerId, lease.id)
  lease.workerId = workerId
  moment.providers.add(lease.provider)
}

/** Of the connected workers with a free slot the one with the most, then the lowest id (WORKER-2). */
export function checkWorker(
  provider: ProviderEntry,
  workerId: WorkerId | null,
  leaseId: string,
): void {
  const worker = workerId === null ? undefined : provider.workers.get(workerId)
  if (worker === undefined || worker.goneSince !== null) {
    broken('lease-cap', `lease ${leaseId} went to ${workerId}, which is not connected`)
  }
  const free = freeSlots(provider, worker.id)
  if (free < 1) broken('lease-cap', `lease ${leaseId} went to ${workerId}, which has no free slot`)
  for (const { id, goneSince } of provider.workers.values()) {
    if (goneSince !== null) continue
    const more = freeSlots(provider, id) - free
    if (more > 0 || (more === 0 && id < worker.id)) {
      broken('offers', `lease ${leaseId} went to ${workerId}, and ${id} was first`)
    }
  }
}

function freeSlots(provider: ProviderEntry, workerId: WorkerId): number {
  return slotsOf(provider, workerId) - leasesOf(provider, workerId).length
}
