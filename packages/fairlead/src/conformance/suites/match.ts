import {
  type Job,
  KIND_NAMES,
  type KindName,
  leaseId,
  newProvider,
  type Policy,
  type Provider,
} from '@fairlead/core'
import {
  addUnits,
  classKey,
  epochOf,
  matchRound,
  ProviderPool,
  RequesterWindows,
  refusalOf,
  termsNow,
  WaitingQueue,
} from '@fairlead/core/internal'
import { amount, type Json, type Suite } from '../suite.ts'
import { vectorPolicy } from '../vector-policy.ts'
import { vectorJob } from './jobs.ts'

/** §5–§7, §12: one round over the kinds ai and quantum. */
export const match: Suite = (input, expect) => {
  const { now, seed, grants = {} } = input
  const policy = vectorPolicy(input.policy)
  const pool = new ProviderPool(policy)
  for (const json of input.providers) pool.add(vectorProvider(json, now, policy))
  const jobs: Job[] = input.jobs.map((json: Json) => waitingJob(json, input.providers))
  const attempts = new Map<string, number>(input.jobs.map((j: Json) => [j.job_id, j.attempt ?? 0]))
  const windows = recentAssignments(input.recent_assignments ?? {}, policy)
  const queues = new Map<KindName, WaitingQueue>()
  for (const kind of KIND_NAMES) {
    const state = { grants: grants[kind] ?? 0, fair: { virtual: 0n, finish: new Map() } }
    const queue = new WaitingQueue(policy, now, state)
    for (const job of jobs) if (job.shape.kind === kind) queue.push(job)
    queues.set(kind, queue)
  }
  const explain = input.explain && explained(input.explain, { jobs, pool, policy, windows, now })
  const isReady = (job: Job): boolean => job.notBefore === null || job.notBefore <= now
  const readyKinds = new Set(jobs.filter(isReady).map((job) => job.shape.kind))

  const rounds = matchRound({ nowMs: now, seed, policy, queues, pool, windows })
  const assignments = rounds.flatMap((round) =>
    round.assignments.map(({ job, provider }) => {
      const attempt = attempts.get(job.id) as number
      const id = leaseId({ jobId: job.id, providerId: provider.id, attempt, seed })
      return { job_id: job.id, provider_id: provider.id, attempt, lease_id: id }
    }),
  )
  const assigned = new Set<string>(assignments.map((made) => made.job_id))
  const counted = KIND_NAMES.filter((kind) => kind in grants || readyKinds.has(kind))
  const after = counted.map((kind) => [kind, queues.get(kind)?.state().grants])
  // The trace is there to find out why; it is not compared.
  const { trace: _trace, ...expected } = expect
  return {
    expected,
    actual: {
      assignments,
      unassigned: jobs
        .map(({ id }) => id)
        .filter((id) => !assigned.has(id))
        .sort(),
      grants: Object.fromEntries(after),
      ...(explain && { explain }),
    },
  }
}

export function vectorProvider(json: Json, now: number, policy: Policy): Provider {
  const { attestation } = json
  const provider = newProvider({
    id: json.provider_id,
    status: json.status ?? 'ACTIVE',
    stake: amount(json.stake),
    attestation: attestation
      ? { notBefore: attestation.not_before, notAfter: attestation.not_after }
      : null,
    lastHeartbeat: json.last_heartbeat,
    health: json.health ?? 1_000,
    offer: {
      capabilities: new Set(json.capabilities),
      models: new Set(json.models ?? []),
      maxDepth: json.max_depth ?? null,
      maxShots: json.max_shots ?? null,
      region: json.region ?? null,
      allow: json.allow ? new Set(json.allow) : null,
      deny: new Set(json.deny ?? []),
      leasesMax: json.leases_max ?? null,
    },
  })
  provider.cooldownUntil = json.cooldown_until ?? null
  provider.liveLeases = json.live_leases ?? 0
  for (const [kind, units] of Object.entries(json.units_used ?? {})) {
    addUnits(provider, kind as KindName, epochOf(now, policy), units as number)
  }
  for (const { kind, model, until } of json.class_cooldowns ?? []) {
    provider.classCooldowns.set(classKey(kind, model), { kind, model, until })
  }
  return provider
}

/** A vector lists denials with the provider; the product keeps them with the job. */
function waitingJob(json: Json, providers: Json): Job {
  const job = vectorJob(json)
  for (const { provider_id, denied_jobs = [] } of providers) {
    for (const { job_id, until } of denied_jobs) {
      if (job_id !== job.id) continue
      job.denials ??= new Map()
      job.denials.set(provider_id, until)
    }
  }
  return job
}

function recentAssignments(given: Json, policy: Policy): RequesterWindows {
  const windows = new RequesterWindows()
  for (const [caller, times] of Object.entries<number[]>(given)) {
    for (const at of times.toSorted((a, b) => a - b)) windows.record(caller as never, at, policy)
  }
  return windows
}

function explained(
  ids: string[],
  world: {
    jobs: Job[]
    pool: ProviderPool
    policy: Policy
    windows: RequesterWindows
    now: number
  },
): Json {
  const { jobs, pool, policy, windows, now } = world
  const terms = termsNow({ nowMs: now, policy, windows })
  const rows = ids.map((id) => {
    const job = jobs.find((candidate) => candidate.id === id) as Job
    return [id, Object.fromEntries(pool.all().map((p) => [p.id, refusalOf(p, job, terms)]))]
  })
  return Object.fromEntries(rows)
}
