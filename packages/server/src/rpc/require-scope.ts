import {
  type Caller,
  KIND_NAMES,
  type KindName,
  type LeaseId,
  type ProviderId,
} from '@fairlead/core'
import type { EngineView } from '@fairlead/engine'
import {
  type CheckedParamsOf,
  METHODS,
  type MethodName,
  type WritingMethod,
} from '@fairlead/protocol'
import {
  isHeldTo,
  requireTouchable,
  requireWritable,
  type ScopeList,
  type Touched,
} from '../auth/scope.ts'
import { type Call, ownCaller } from './call.ts'

/**
 * Holds a call to the scope of its token: one that only reads changes nothing, and no call touches a name that
 * is out of scope. Which names a call touches is said in one table, and a method that changes something and is
 * not in it does not compile.
 */
export function requireScope(
  name: MethodName,
  params: CheckedParamsOf<MethodName>,
  call: Call,
  view: EngineView,
): void {
  if (METHODS[name].access === 'read') return
  const { identity } = call
  if (identity.role !== 'provider' && identity.scope === undefined) return
  requireWritable(identity, name)
  const touches = TOUCHES[name as WritingMethod] as TouchesOf<WritingMethod>
  for (const touched of touches(params as never, call, view)) requireTouchable(identity, touched)
}

type TouchesOf<Name extends MethodName> = (
  params: CheckedParamsOf<Name>,
  call: Call,
  view: EngineView,
) => readonly Touched[]

const NOTHING = (): readonly Touched[] => []

const TOUCHES: { readonly [Name in WritingMethod]: TouchesOf<Name> } = {
  'aicf.enqueue': ({ kind, payload }) => {
    const { model, name } = payload as { readonly model?: unknown; readonly name?: unknown }
    const kindName = typeof kind === 'number' ? (KIND_NAMES[kind] as KindName) : kind
    return work(kindName, kindName === 'task' ? name : model)
  },
  'aicf.cancelJob': NOTHING,
  'aicf.cancelJobs': NOTHING,
  'aicf.retryJobs': ({ filter: { kind, name } }) =>
    kind === undefined ? [{ list: 'kinds', names: ['*'] }] : work(kind, name ?? '*'),
  'aicf.pollLeases': ({ kinds, models, platforms, provider_id }, call, view) => {
    const isOffer = kinds !== undefined || models !== undefined || platforms !== undefined
    if (!isOffer) return offered({}, providerNamed(provider_id, call), view)
    return offer(kinds ?? [], models ?? ['*'], platforms ?? [])
  },
  'aicf.ackLease': held,
  'aicf.renewLease': held,
  'aicf.reportProgress': held,
  'aicf.declineLease': held,
  'aicf.completeLease': held,
  'aicf.failLease': held,
  'aicf.releaseLease': held,
  'aicf.registerProvider': ({ kinds = [], models = [], platforms = [] }) =>
    offer(kinds, models, platforms),
  'aicf.updateProvider': (params, call, view) =>
    offered(params, providerNamed(params.provider_id, call), view),
  'aicf.heartbeat': NOTHING,
  'aicf.setProviderStatus': NOTHING,
  'aicf.stake': NOTHING,
  'aicf.unstake': NOTHING,
  'aicf.getChallenge': NOTHING,
  'aicf.attest': NOTHING,
  'aicf.submitProof': NOTHING,
  'aicf.closeEpoch': NOTHING,
  'aicf.recordPayout': NOTHING,
  'chain.block': NOTHING,
  'schedules.put': ({ request: { kind, payload } }) => {
    const { model, name } = payload as { readonly model?: unknown; readonly name?: unknown }
    const kindName = typeof kind === 'number' ? (KIND_NAMES[kind] as KindName) : kind
    return work(kindName, kindName === 'task' ? name : model)
  },
  'schedules.delete': NOTHING,
  'schedules.trigger': (params, call, view) => scheduled(params, call, view),
  'queues.pause': ({ kind, name }) => [...work(kind, name ?? '*')],
  'queues.resume': ({ kind, name }) => [...work(kind, name ?? '*')],
  'signup.schedule': ({ provider }) => work('registration', provider),
  'signup.cancel': NOTHING,
  'signup.setOpening': ({ provider }) => work('registration', provider),
  'limits.define': ({ limit }) => [limits([limit])],
  'limits.reset': (params) => [limits([params])],
  'limits.delete': (params) => [limits([params])],
  'limits.reserve': ({ requirements }) => [limits(requirements)],
  'limits.reserveMany': ({ requests }) =>
    requests.map((one) => limits(listIn(one, 'requirements'))),
  'limits.complete': ({ actuals = [] }) => [limits(actuals)],
  'limits.completeMany': ({ requests }) => requests.map((one) => limits(listIn(one, 'actuals'))),
  'policy.set': NOTHING,
  'audit.prune': NOTHING,
  'storage.backup': NOTHING,
}

/** A job by its kind and its name: of an ai job its model, of a registration its platform, of a quantum job none. */
export function work(kind: KindName, name: unknown): readonly Touched[] {
  const touched: Touched[] = [{ list: 'kinds', names: [kind] }]
  const list = NAMED_BY[kind]
  // A name that is none is refused by the rules of its kind; until then no pattern may let it pass.
  if (list !== null) touched.push({ list, names: [typeof name === 'string' ? name : ''] })
  return touched
}

const NAMED_BY: Readonly<Record<KindName, ScopeList | null>> = {
  ai: 'models',
  quantum: null,
  task: 'models',
  registration: 'platforms',
}

/** What a provider offers: names count only for the kinds that go by them. */
function offer(
  kinds: Iterable<KindName>,
  models: Iterable<string>,
  platforms: Iterable<string>,
): readonly Touched[] {
  const all = [...kinds]
  const names = { models, platforms }
  const touched: Touched[] = [{ list: 'kinds', names: all }]
  for (const list of ['models', 'platforms'] as const) {
    if (all.some((kind) => NAMED_BY[kind] === list)) touched.push({ list, names: names[list] })
  }
  return touched
}

/** What a provider offers once some of it is changed. */
function offered(
  changed: {
    readonly kinds?: readonly KindName[] | undefined
    readonly models?: readonly string[] | undefined
    readonly platforms?: readonly string[] | undefined
  },
  id: ProviderId | undefined,
  view: EngineView,
): readonly Touched[] {
  const known = id === undefined ? null : view.provider(id)
  return offer(
    changed.kinds ?? known?.offer.capabilities ?? [],
    changed.models ?? known?.offer.models ?? [],
    changed.platforms ?? known?.offer.platforms ?? [],
  )
}

function providerNamed(named: ProviderId | undefined, { identity, socket }: Call) {
  if (identity.role === 'provider') return identity.subject as ProviderId
  return named ?? socket?.onlyProvider()
}

/** The work of a schedule that is there already. */
function scheduled(
  { id, caller }: { readonly id: string; readonly caller?: Caller | undefined },
  call: Call,
  view: EngineView,
): readonly Touched[] {
  const schedule = view.schedule({ caller: caller ?? ownCaller(call), id })
  if (schedule === null) return []
  const { kind, payload } = JSON.parse(schedule.request) as {
    readonly kind: KindName
    readonly payload: { readonly model?: unknown; readonly name?: unknown }
  }
  return work(kind, kind === 'task' ? payload.name : payload.model)
}

/** The job of a lease; one that has ended changes nothing any more. */
function held(
  { lease_id }: { readonly lease_id: LeaseId },
  { identity }: Call,
  view: EngineView,
): readonly Touched[] {
  if (
    !isHeldTo(identity, 'kinds') &&
    !isHeldTo(identity, 'models') &&
    !isHeldTo(identity, 'platforms')
  )
    return []
  const lease = view.lease(lease_id)
  const job = lease === null ? null : view.job(lease.jobId)
  return job === null ? [] : work(job.kind, job.model)
}

function limits(items: readonly unknown[]): Touched {
  const names = items.map((item) => (item as { readonly key?: unknown } | null)?.key)
  return { list: 'limits', names: names.filter((key) => typeof key === 'string') }
}

/** Of an item that its handler checks later, and refuses if this is no list. */
function listIn(item: unknown, field: string): readonly unknown[] {
  const list = (item as Readonly<Record<string, unknown>> | null | undefined)?.[field]
  return Array.isArray(list) ? list : []
}
