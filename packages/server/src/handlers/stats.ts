import { leaseCap } from '@fairlead/core/internal'
import { OUTCOMES_WINDOW_MS } from '../metrics/provider-outcomes.ts'
import { type Call, type Handlers, ownCaller } from '../rpc/call.ts'
import { pageOfLimits } from './limits.ts'

const PROVIDERS_MAX = 1_000

export const statsGet: Handlers['stats.get'] = async (_, __, { stats, storage }) => ({
  ...stats.take(),
  storage: await storage.figures(),
})

export const statsVerdict: Handlers['stats.verdict'] = (_, call, { figures }) =>
  figures.verdict(ownOnly(call), Date.now())

export const statsWaiting: Handlers['stats.waiting'] = ({ kind }, call, { figures }) =>
  figures.waiting(ownOnly(call), Date.now(), kind)

export const statsFairness: Handlers['stats.fairness'] = (params, call, { figures }) =>
  figures.fairness(ownOnly(call), Date.now(), params)

export const statsBudgets: Handlers['stats.budgets'] = async (params, call, services) => {
  const { limiter, limitOwners, figures } = services
  const own = ownOnly(call)
  const all = await limiter.list()
  const open: typeof all = []
  for (const view of all) {
    if (own === null || (await limitOwners.isOpenTo(call, view.limit.key))) open.push(view)
  }
  const { page, cursor } = pageOfLimits(open, params)
  const isCounted = !limitOwners.isElsewhere
  const now = Date.now()
  return { at: now, budgets: figures.budgets(page, { own, isCounted }, now), cursor }
}

export const statsProviders: Handlers['stats.providers'] = (_, call, { engine, meter }) => {
  const { role, subject } = call.identity
  const { view } = engine
  const now = Date.now()
  const shown = view.providers().filter(({ id }) => role !== 'provider' || id === subject)
  return {
    at: now,
    window_ms: OUTCOMES_WINDOW_MS,
    providers: shown
      .toSorted((a, b) => b.liveLeases - a.liveLeases || (a.id < b.id ? -1 : 1))
      .slice(0, PROVIDERS_MAX)
      .map((provider) => ({
        provider_id: provider.id,
        leases: provider.liveLeases,
        lease_cap: leaseCap(provider, view.policy),
        ...meter.providers.of(provider.id, now),
      })),
  }
}

export const statsHistory: Handlers['stats.history'] = (_, __, { history }) => history.answer()

export const statsStorage: Handlers['stats.storage'] = async (_, __, { storage }) => {
  const now = Date.now()
  return { at: now, storage: await storage.report(now) }
}

/** A requester hears of its own jobs, everybody else of all. */
function ownOnly(call: Call) {
  return call.identity.role === 'requester' ? ownCaller(call) : null
}
