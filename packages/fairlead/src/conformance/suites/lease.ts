import {
  ackLease,
  advanceMarket,
  cancelJob,
  changePolicy,
  completeLease,
  declineLease,
  enqueueJob,
  FairleadError,
  failLease,
  forgetEnded,
  hasEnded,
  type Job,
  keptSince,
  type Lease,
  type Market,
  newProvider,
  openMarket,
  type Provider,
  recordHeartbeat,
  registerProvider,
  releaseLease,
  renewLease,
  setProviderStatus,
} from '@fairlead/core'
import {
  compareAscii,
  compareText,
  decideProof,
  issueLease,
  renewBy,
} from '@fairlead/core/internal'
import { type Json, refusal, type Suite } from '../suite.ts'
import { vectorPolicy } from '../vector-policy.ts'
import { vectorDemand } from './jobs.ts'

interface View {
  readonly jobs: Record<string, Json>
  readonly leases: Record<string, Json>
  readonly providers: Record<string, Json>
}

const OPS: Readonly<Record<string, (market: Market, step: Json) => void>> = {
  enqueue: (market, step) => {
    enqueueJob(market, {
      id: step.job,
      kind: step.kind,
      caller: step.caller,
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 1_000,
      demand: vectorDemand(step),
      regions: null,
      ttlAbsSecs: step.ttl_abs_secs ?? null,
      enqueueSeq: 0,
    })
  },
  issue: (market, { job, provider, seed }) =>
    issueLease(market, jobOf(market, job), providerOf(market, provider), seed),
  ack: (market, { lease, by }) => ackLease(market, { leaseId: lease, by }),
  renew: (market, { lease, by }) => renewLease(market, { leaseId: lease, by }),
  decline: (market, { lease, by }) => declineLease(market, { leaseId: lease, by }),
  release: (market, { lease, by }) => releaseLease(market, { leaseId: lease, by }),
  complete: (market, { lease, by, digest, actual_units: actualUnits = null }) =>
    completeLease(market, { leaseId: lease, by, digest, actualUnits }),
  fail: (market, { lease, by, code, permanent }) =>
    failLease(market, { leaseId: lease, by, code, permanent }),
  cancel: (market, { job, by }) => cancelJob(market, jobOf(market, job), by),
  proof: (market, { job, valid }) => decideProof(market, jobOf(market, job), valid),
  heartbeat: (market, { provider }) => recordHeartbeat(market, providerOf(market, provider)),
  provider_status: (market, { provider, status }) =>
    setProviderStatus(market, providerOf(market, provider), status),
  policy: (market, { set }) => changePolicy(market, vectorPolicy(set, market.policy)),
  tick: () => {},
}

/** §4, §8–§12: the state machine of jobs, leases and providers. */
export const lease: Suite = (input, expect) => {
  if (expect.steps.length !== input.steps.length) {
    throw new TypeError(`steps: ${input.steps.length} of them, but ${expect.steps.length} expected`)
  }
  const market = marketOf(input)
  const due: View = { jobs: {}, leases: {}, providers: {} }
  merge(due, expect.initial)
  const expected: Json[] = [structuredClone(due)]
  const actual: Json[] = [viewOf(market)]
  for (const [i, step] of input.steps.entries()) {
    const { changed, ...answer } = expect.steps[i]
    merge(due, changed)
    expected.push({ step: i, ...answer, ...structuredClone(due) })
    const op = OPS[step.op]
    if (op === undefined) throw new TypeError(`steps[${i}]: unknown op ${step.op}`)
    advanceMarket(market, step.at)
    forgetEnded(market, keptSince(market.policy, market.nowMs))
    const error = refusal(() => op(market, step))
    const given = error === null ? { ok: true } : { ok: false, error }
    actual.push({ step: i, ...given, ...viewOf(market) })
  }
  return { expected, actual }
}

function marketOf({ policy, providers, steps }: Json): Market {
  const market = openMarket({ policy: vectorPolicy(policy), nowMs: steps[0]?.at ?? 0 })
  for (const [id, json] of Object.entries<Json>(providers)) {
    const offer = { leasesMax: json.leases_max ?? null }
    const { last_heartbeat: lastHeartbeat, health = 1_000 } = json
    registerProvider(market, newProvider({ id: id as never, lastHeartbeat, health, offer }))
  }
  return market
}

/** Takes in the objects that changed; null is one that is gone. */
function merge(view: View, changed: Json): void {
  for (const group of ['jobs', 'leases', 'providers'] as const) {
    for (const [id, object] of Object.entries(changed[group] ?? {})) {
      if (object === null) delete view[group][id]
      else view[group][id] = object
    }
  }
}

function viewOf(market: Market): View {
  return {
    jobs: byId([...market.jobs.values()], (job) => jobView(job, market.nowMs)),
    leases: byId([...market.leases.values()], leaseView),
    providers: byId([...market.pool.all()], (provider) => providerView(provider, market)),
  }
}

function jobView(job: Job, now: number): Json {
  const { status, enqueueTs, retries, attempt, notBefore, reason } = job
  const isShown = reason === 'ttl_abs' || reason === 'ttl_rel' || reason === 'declined'
  return {
    status,
    enqueue_ts: enqueueTs,
    retries,
    attempt,
    not_before: ahead(notBefore, now),
    ...(isShown && { reason }),
  }
}

function leaseView(held: Lease): Json {
  return {
    job: held.job.id,
    provider: held.provider.id,
    attempt: held.attempt,
    status: held.status,
    t_start: held.tStart,
    t_deadline: held.tDeadline,
    renew_by: renewBy(held),
    renewals: held.renewals,
  }
}

function providerView(provider: Provider, { nowMs, jobs }: Market): Json {
  const units = [...provider.units]
    .filter(([, epochs]) => epochs.size > 0)
    .map(([kind, epochs]) => [kind, Object.fromEntries(epochs)])
  const cooldowns = [...provider.classCooldowns.values()].filter(({ until }) => until > nowMs)
  const denied = [...jobs.values()]
    .filter(({ status }) => !hasEnded(status))
    .map((job) => ({ job_id: job.id, until: job.denials?.get(provider.id) ?? 0 }))
    .filter(({ until }) => until > nowMs)
  return {
    status: provider.status,
    health: provider.health,
    live_leases: provider.liveLeases,
    failures: provider.failures,
    cooldown_until: ahead(provider.cooldownUntil, nowMs),
    units: Object.fromEntries(units),
    class_cooldowns: cooldowns.sort((a, b) => compareText(a.kind + a.model, b.kind + b.model)),
    denied_jobs: denied.sort((a, b) => compareAscii(a.job_id, b.job_id)),
  }
}

function byId<T extends { id: string }>(items: T[], view: (item: T) => Json): Record<string, Json> {
  return Object.fromEntries(items.map((item) => [item.id, view(item)]))
}

function ahead(at: number | null, now: number): number | null {
  return at !== null && at > now ? at : null
}

function jobOf(market: Market, id: string): Job {
  const job = market.jobs.get(id as never)
  if (job === undefined) throw new FairleadError('NotFound', `there is no job ${id}`)
  return job
}

function providerOf(market: Market, id: string): Provider {
  const provider = market.pool.get(id as never)
  if (provider === undefined) throw new FairleadError('NotFound', `there is no provider ${id}`)
  return provider
}
