import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Caller, JobId, ProviderId, Seed } from '../src/encoding/ids.ts'
import type { KindName } from '../src/enqueue/kinds.ts'
import { type Policy, parsePolicy } from '../src/policy/policy.ts'
import { type PlainJob, PlainShares, plainScoreBatch, plainShareBatch } from './plain-order.ts'
import {
  type PlainMarket,
  type PlainProvider,
  plainDice,
  plainRefusal,
  plainRound,
  plainShuffle,
} from './plain-round.ts'

// The reference that the property tests compare with is itself held against the vectors.

describe('the plain round', () => {
  it('MATCH-1: assigns as every match vector says', () => {
    for (const { name, input, expect: want } of vectors('match')) {
      const market = marketOf(input)
      const rounds = plainRound(market)
      const made = rounds.flatMap(({ assignments }) => assignments)
      const assigned = made.map(({ job, provider }) => ({ job: job.id, provider: provider.id }))
      expect(assigned, name).toEqual(
        want['assignments'].map((a: Json) => ({ job: a['job_id'], provider: a['provider_id'] })),
      )
      for (const { kind, batch, picks } of rounds) {
        if (want['trace']?.[kind] === undefined) continue
        expect({ batch, picks }, name).toMatchObject({
          batch: want['trace'][kind].batch,
          picks: want['trace'][kind].picks,
        })
      }
    }
  })

  it('MATCH-3: refuses for the reason that every match vector gives', () => {
    for (const { name, input, expect: want } of vectors('match')) {
      const market = marketOf(input)
      for (const [id, reasons] of Object.entries<Json>(want['explain'] ?? {})) {
        const job = market.jobs.find((candidate) => candidate.id === id)
        if (job === undefined) throw new Error(`${name} explains a job it does not give`)
        const found = market.providers.map((p) => [p.id, plainRefusal(p, job, market)])
        expect(Object.fromEntries(found), name).toEqual(reasons)
      }
    }
  })

  it('MATCH-5: shuffles and draws as every shuffle vector says', () => {
    for (const { name, input, expect: want } of vectors('shuffle')) {
      const seed = input['seed'] as Seed
      if (input['ids'] !== undefined) {
        expect(plainShuffle([...input['ids']].sort(), seed), name).toEqual(want['order'])
      } else {
        expect(input['draws'].map(plainDice(seed)), name).toEqual(want['values'])
      }
    }
  })
})

describe('the plain order', () => {
  it('ORDER-3: sorts as every priority vector says', () => {
    for (const { name, input, expect: want } of vectors('priority')) {
      if (want['error'] !== undefined) continue
      const policy = policyOf({ priority: input['policy'] })
      const jobs: PlainJob[] = input['jobs'].map(jobOf)
      const options = { now: input['now'], size: jobs.length, grants: 0, policy }
      const { jobs: order } = plainScoreBatch(jobs, options)
      expect(
        order.map((job) => job.id),
        name,
      ).toEqual(want['order'].map((entry: Json) => entry['job_id']))
    }
  })

  it('FAIR-2: shares as every fair vector says', () => {
    for (const { name, input, expect: want } of vectors('fair')) {
      const { priority, tenant_weights, tier_weights } = input['policy'] ?? {}
      const policy = policyOf({
        priority,
        fairness: 'tenant',
        tenant_weights,
        tier_weights,
        starvation_k: 1_000_000,
      })
      const shares = new PlainShares()
      let waiting: PlainJob[] = []
      const assigned = new Map<JobId, PlainJob>()
      for (const [index, step] of input['steps'].entries()) {
        const result: Json = {}
        if (step.op === 'enqueue') waiting.push(...step.jobs.map(jobOf))
        if (step.op === 'round') {
          const { now, batch_size: size, slots } = step
          const batch = plainShareBatch(waiting, shares, { now, size, policy })
          const given = batch.jobs.slice(0, slots)
          for (const job of given) {
            shares.book(job, policy)
            assigned.set(job.id, job)
          }
          waiting = waiting.filter((job) => !assigned.has(job.id))
          result['batch'] = batch.jobs.map((job) => job.id)
          result['assigned'] = given.map((job) => job.id)
        }
        if (step.op === 'settle') {
          shares.settle(assigned.get(step.job_id) as PlainJob, step.actual_units, policy)
        }
        const { virtual, finish } = shares.state()
        const callers = Object.fromEntries([...finish].map(([caller, at]) => [caller, String(at)]))
        result['state'] = { virtual: String(virtual), callers }
        expect(result, `${name}, step ${index}`).toEqual(want['steps'][index])
      }
    }
  })
})

// biome-ignore lint/suspicious/noExplicitAny: vectors are JSON of many forms
type Json = Record<string, any>

function vectors(suite: string): { name: string; input: Json; expect: Json }[] {
  const file = new URL(`../../../vectors/${suite}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).cases
}

function marketOf(input: Json): PlainMarket {
  const policy = policyOf(input['policy'])
  const epoch = Math.floor(input['now'] / (1_000 * policy.queue.quotas.epochSecs))
  const jobs: Json[] = input['jobs']
  const providers: Json[] = input['providers']
  const denials = new Map<string, Record<string, number>>()
  for (const p of providers) {
    for (const { job_id, until } of p['denied_jobs'] ?? []) {
      denials.set(job_id, { ...denials.get(job_id), [p['provider_id']]: until })
    }
  }
  return {
    now: input['now'],
    seed: input['seed'] as Seed,
    policy,
    jobs: jobs.map((job) => ({ ...jobOf(job), denials: denials.get(job['job_id']) ?? {} })),
    providers: providers.map((p) => providerOf(p, epoch)),
    grants: input['grants'] ?? {},
    shares: {},
    recent: input['recent_assignments'] ?? {},
  }
}

function policyOf(given: Json): Policy {
  const units = given['units_per_epoch'] ?? {}
  const quotas = {
    leases_max_per_provider: given['leases_max_per_provider'],
    ai_units_per_epoch: units['ai'],
    quantum_units_per_epoch: units['quantum'],
    requester_window: given['requester_window'],
  }
  const registry = {
    heartbeat_timeout_ms: given['heartbeat_timeout_ms'],
    min_health: given['min_health'],
    attestation_required: given['attestation_required'],
    min_stake: given['min_stake'],
    denied_regions: given['denied_regions'],
    requesters_allow: given['requesters_allow'],
    requesters_deny: given['requesters_deny'],
  }
  const queue = {
    batch_size: given['batch_size'],
    starvation_k: given['starvation_k'],
    quotas,
  }
  const match = {
    order: given['match_order'],
    fairness: given['fairness'],
    tenant_weights: given['tenant_weights'],
    tier_weights: given['tier_weights'],
  }
  return parsePolicy({ queue, registry, match, priority: given['priority'] }, 'fund')
}

function jobOf(job: Json): PlainJob {
  const kind: KindName = job['kind'] ?? 'ai'
  return {
    id: job['job_id'] as JobId,
    kind,
    caller: job['caller'] as Caller,
    tier: job['tier'] ?? 'FREE',
    fee: BigInt(job['fee'] ?? 0),
    sizeBytes: job['size_bytes'] ?? 1_000,
    enqueueTs: job['enqueue_ts'],
    enqueueSeq: 0,
    notBefore: job['not_before'] ?? null,
    model: job['model'] ?? null,
    maxTokens: job['max_tokens'] ?? 100,
    shots: job['shots'] ?? 1_000,
    depthHint: job['depth_hint'] ?? 0,
    regions: job['regions'] ?? null,
    needs: null,
    denials: {},
  }
}

function providerOf(p: Json, epoch: number): PlainProvider {
  const units = Object.entries<number>(p['units_used'] ?? {})
  return {
    id: p['provider_id'] as ProviderId,
    capabilities: p['capabilities'],
    models: p['models'] ?? [],
    maxDepth: p['max_depth'] ?? null,
    maxShots: p['max_shots'] ?? null,
    maxWidth: null,
    gates: null,
    precision: null,
    region: p['region'] ?? null,
    allow: p['allow'] ?? null,
    deny: p['deny'] ?? [],
    leasesMax: p['leases_max'] ?? null,
    status: p['status'] ?? 'ACTIVE',
    stake: BigInt(p['stake']),
    attestation: attestationOf(p['attestation'] ?? null),
    lastHeartbeat: p['last_heartbeat'],
    health: p['health'] ?? 1_000,
    cooldownUntil: p['cooldown_until'] ?? null,
    classCooldowns: p['class_cooldowns'] ?? [],
    leases: p['live_leases'] ?? 0,
    units: Object.fromEntries(units.map(([kind, used]) => [`${kind}@${epoch}`, used])),
  }
}

function attestationOf(given: Json | null): PlainProvider['attestation'] {
  return given && { notBefore: given['not_before'], notAfter: given['not_after'] }
}
