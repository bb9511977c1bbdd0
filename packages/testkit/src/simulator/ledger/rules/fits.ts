import type { Policy } from '@fairlead/core'
import type { JobNeeds, ProviderRow } from '@fairlead/core/internal'
import type { InvariantName } from '../../violation.ts'
import {
  type Book,
  classOf,
  type JobEntry,
  type ProviderEntry,
  slotsOf,
  unitsKey,
} from '../book.ts'
import { limitMisfit } from './limit-spans.ts'
import { epochAt, unitCap } from './own-rules.ts'

/** Why a provider does not fit a job, and which invariant an assignment would break. */
export interface Misfit {
  readonly invariant: InvariantName
  readonly why: string
}

/** The checks of MATCH-3, on what the journal and the offers say; null if the provider fits. */
export function misfit(
  book: Book,
  provider: ProviderEntry,
  job: JobEntry,
  atMs: number,
): Misfit | null {
  const { policy } = book
  return (
    providerMisfit(provider, atMs, policy) ??
    offerMisfit(provider, job, policy) ??
    quotaMisfit(book, provider, job, atMs) ??
    limitMisfit(book, job, atMs)
  )
}

/** How many leases a provider gets: no more than its connected workers have slots for (WORKER-1). */
export function capOf(provider: ProviderEntry, policy: Policy): number {
  if (provider.row.workers === null) return allowedOf(provider, policy)
  let slots = 0
  for (const { id, goneSince } of provider.workers.values()) {
    if (goneSince === null) slots += slotsOf(provider, id)
  }
  return Math.min(slots, allowedOf(provider, policy))
}

/** How many it may hold at any time: the lower of the policy's number and its own (QUOTA-1). */
export function allowedOf({ row }: ProviderEntry, { queue: { quotas } }: Policy): number {
  return Math.min(quotas.leasesMaxPerProvider, row.leasesMax ?? Number.POSITIVE_INFINITY)
}

/** Nobody takes such jobs: each provider is RETIRED, takes nothing, or does not offer this. */
export function isUnserved({ providers, policy }: Book, job: JobEntry): boolean {
  return [...providers.values()].every(
    (provider) =>
      provider.status === 'RETIRED' ||
      allowedOf(provider, policy) === 0 ||
      offerMisfit(provider, job, policy) !== null,
  )
}

function providerMisfit(
  provider: ProviderEntry,
  atMs: number,
  { registry }: Policy,
): Misfit | null {
  const { row, status, cooldownUntil } = provider
  if (status !== 'ACTIVE') return unfit(`${provider.id} is ${status}`)
  let stake = 0n
  for (const kind of row.capabilities) stake += registry.minStake[kind]
  if (row.stake < stake) return unfit('its stake is below the minimum')
  const isHeard = registry.liveness === 'worker'
  if (!isHeard && atMs - row.lastHeartbeat > registry.heartbeatTimeoutMs)
    return unfit('its heartbeat is stale')
  if (registry.health === 'off') return null
  if (row.health < registry.minHealth) return unfit(`its health is ${row.health}`)
  if (cooldownUntil !== null && atMs < cooldownUntil) return unfit('it cools down')
  return null
}

function offerMisfit(
  { row }: ProviderEntry,
  { facts }: JobEntry,
  { registry }: Policy,
): Misfit | null {
  const { kind, model, caller, regions } = facts
  if (!row.capabilities.includes(kind)) return unfit(`it does not offer ${kind}`)
  const offered = kind === 'registration' ? row.platforms : row.models
  if (model !== null && !offered.includes(model) && !offered.includes('*')) {
    return unfit(`it does not offer ${model}`)
  }
  const lacks = needsMisfit(row, facts.needs)
  if (lacks !== null) return unfit(lacks)
  if (kind === 'quantum') {
    if (facts.depthHint > (row.maxDepth ?? Number.POSITIVE_INFINITY)) return unfit('it is too deep')
    if (facts.shots > (row.maxShots ?? Number.POSITIVE_INFINITY))
      return unfit('it has too many shots')
  }
  if (regions !== null && (row.region === null || !regions.includes(row.region))) {
    return unfit('it is in another region')
  }
  if (row.region !== null && registry.deniedRegions.includes(row.region))
    return unfit('its region is denied')
  const allows = [row.allow, registry.requestersAllow]
  const denies = [row.deny, registry.requestersDeny]
  if (denies.some((list) => list.includes(caller))) return unfit('the caller is denied')
  if (allows.some((list) => list !== null && !list.includes(caller)))
    return unfit('the caller is not allowed')
  return null
}

/** One of the precisions will do; all of the gates are needed. */
function needsMisfit(row: ProviderRow, needs: JobNeeds | null): string | null {
  if (needs === null) return null
  const { precision, gates } = row
  if (precision !== null && needs.precision?.every((one) => !precision.includes(one)) === true) {
    return 'it has none of the precisions'
  }
  if (needs.widthHint > (row.maxWidth ?? Number.POSITIVE_INFINITY)) return 'it is too wide'
  const missing = gates === null ? undefined : needs.gates?.find((gate) => !gates.includes(gate))
  return missing === undefined ? null : `it does not have the gate ${missing}`
}

function quotaMisfit(
  book: Book,
  provider: ProviderEntry,
  job: JobEntry,
  atMs: number,
): Misfit | null {
  const { policy } = book
  const { kind, units, caller } = job.facts
  const cap = capOf(provider, policy)
  if (provider.live.size >= cap) {
    return { invariant: 'lease-cap', why: `it holds ${provider.live.size} of ${cap} leases` }
  }
  const most = unitCap(kind, policy)
  const used = provider.units.get(unitsKey(kind, epochAt(atMs, policy))) ?? 0
  if (most !== null && used + units > most) {
    return { invariant: 'unit-quota', why: `${used} + ${units} units are over ${most}` }
  }
  const cools = policy.registry.health === 'on'
  if (cools && atMs < (provider.classCooldowns.get(classOf(job.facts)) ?? 0))
    return unfit('it cools down for the class')
  if (atMs < (job.denials.get(provider.id) ?? 0)) return unfit('it may not take this job yet')
  const window = policy.queue.quotas.requesterWindow
  if (window !== null) {
    const since = atMs - 1_000 * window.secs
    const times = book.assignedAt.get(caller) ?? []
    let count = 0
    for (let i = times.length - 1; i >= 0 && (times[i] as number) > since; i--) count++
    if (count >= window.jobs) {
      return {
        invariant: 'requester-window',
        why: `${count} of ${window.jobs} are used by its caller`,
      }
    }
  }
  return null
}

function unfit(why: string): Misfit {
  return { invariant: 'eligibility', why }
}
