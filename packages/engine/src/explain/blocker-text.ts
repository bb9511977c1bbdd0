import type { Policy, Refusal, WaitReason } from '@fairlead/core'
import { adviceOn } from '@fairlead/core/internal'
import type { Change, HeldUp } from '../view/waiting/blockers.ts'
import { durationText } from './duration-text.ts'
import { REFUSAL_MEANS } from './explanation-text.ts'
import { oneLine } from './one-line.ts'

/** What holds some jobs up, in a sentence. */
export function blockerText(blocker: HeldUp, at: number): string {
  return `${jobsText(blocker)} ${WHY[blocker.hold.reason](blocker, at)}.`
}

type Say = (blocker: HeldUp, at: number) => string

const WHY: { readonly [R in WaitReason]: Say } = {
  ready: ({ jobs }) => `${are(jobs)} ready and ${jobs === 1 ? 'goes' : 'go'} with the next rounds`,
  paused: ({ hold: { pause }, jobs }, at) => {
    if (pause === null) return `${wait(jobs)} in a paused queue`
    const named = pause.name === null ? '' : ` ${oneLine(pause.name)}`
    const whose = pause.caller === null ? '' : ' of their requester'
    const since = durationText(at - pause.since)
    return `${wait(jobs)}: the queue ${pause.kind}${named}${whose} has been paused for ${since}`
  },
  scheduled: (blocker, at) => `${are(blocker.jobs)} scheduled for later${first(blocker, at)}`,
  dependencies: ({ jobs }) => `${wait(jobs)} for other jobs to end`,
  backoff: (blocker, at) =>
    `${wait(blocker.jobs)} to be tried again after failed attempts${first(blocker, at)}`,
  not_open: (blocker, at) => `${wait(blocker.jobs)} for a session to open${first(blocker, at)}`,
  pacing: (blocker, at) =>
    `${wait(blocker.jobs)} for their turn after the opening${first(blocker, at)}`,
  budget: (blocker, at) => budgetText(blocker, at),
  proof: ({ jobs }) => `${wait(jobs)} for a proof`,
  no_provider: (blocker, at) => providerText(blocker, at),
}

function budgetText({ hold: { limit }, jobs, until }: HeldUp, at: number): string {
  if (limit === null) return `${wait(jobs)} for the send budget of an organisation`
  const key = oneLine(limit.key)
  if (limit.reason === 'unknown') return `${wait(jobs)} for the limit ${key}, which is not defined`
  if (limit.reason === 'too_large') {
    const amount = limit.amount.toLocaleString('en')
    return `${wait(jobs)} for the limit ${key}, which is smaller than the ${amount} that one needs`
  }
  return `${wait(jobs)} for the limit ${key}, which has no room${soon(until, at)}`
}

function providerText(blocker: HeldUp, at: number): string {
  const { hold, jobs, until } = blocker
  const { check, provider, slots } = hold
  if (check === null || provider === null) return `${wait(jobs)}, and there is no provider`
  const say = CHECKS[check]
  if (say !== undefined) return say(blocker, at)
  const means = REFUSAL_MEANS[check]
  const why = typeof means === 'string' ? means : means(slots)
  return `${wait(jobs)} for ${provider.id}, which comes closest: ${why}${soon(until, at)}`
}

const CHECKS: { readonly [R in Refusal]?: Say } = {
  capability_missing: ({ jobs, kind }) => `${wait(jobs)}: no provider takes jobs of kind ${kind}`,
  model_unsupported: (blocker) => `${wait(blocker.jobs)}: no provider offers ${namesText(blocker)}`,
  lease_cap_reached: ({ hold: { slots, provider, limit }, jobs }) => {
    if (slots === 0) return `${wait(jobs)}: no worker of ${provider?.id} is connected`
    const all = slots === 1 ? 'the only slot' : `all ${slots.toLocaleString('en')} slots`
    const busy = `${all} of the providers that take them ${slots === 1 ? 'is' : 'are'} busy`
    const behind =
      limit === null ? '' : `, and the limit ${oneLine(limit.key)} has no room for them`
    return `${wait(jobs)} for a free slot: ${busy}${behind}`
  },
  provider_not_active: ({ hold: { provider }, jobs }) =>
    `${wait(jobs)} for ${provider?.id}, which is ${provider?.status}`,
  requester_rate_limited: ({ jobs, until }, at) =>
    `${wait(jobs)}: their requesters have got all that their window admits${soon(until, at)}`,
}

/** The change that would let the jobs go; null where time or the next round does. */
export function changeFor(blocker: HeldUp, policy: Policy): Change | null {
  const { hold, jobs } = blocker
  const say = CHANGES[hold.reason]?.(blocker, policy) ?? null
  return say === null ? null : { jobs, method: null, params: null, ...say }
}

type Advice = Pick<Change, 'text'> & Partial<Pick<Change, 'method' | 'params'>>

const CHANGES: {
  readonly [R in WaitReason]?: (blocker: HeldUp, policy: Policy) => Advice | null
} = {
  paused: ({ hold: { pause } }) => {
    if (pause === null) return null
    const { kind, name, caller } = pause
    const flags = `${name === null ? '' : ` --name ${name}`}${caller === null ? '' : ` --caller ${caller}`}`
    return {
      text: `Resume it: fairlead queues resume ${kind}${flags}`,
      method: 'queues.resume',
      params: { kind, ...(name === null ? {} : { name }), ...(caller === null ? {} : { caller }) },
    }
  },
  backoff: ({ first }) =>
    first === null ? null : { text: `See why they fail: fairlead explain ${first}` },
  budget: ({ hold: { limit } }) => {
    if (limit === null) return null
    const key = oneLine(limit.key)
    if (limit.reason === 'unknown') return { text: `Define ${key}, or take it out of admit.` }
    if (limit.reason === 'too_large') return { text: `Raise ${key}, or cancel these jobs.` }
    return { text: `Raise ${key}, if its provider allows more.` }
  },
  no_provider: (blocker, policy) => providerChange(blocker, policy),
}

/** What a provider would have to be like, for checks that are about what it offers. */
const OWN_TERMS: { readonly [R in Refusal]?: string } = {
  circuit_unsupported: 'Connect a provider that runs circuits of this size.',
  region_denied: 'Connect a provider in a region that these jobs ask for, or cancel them.',
  requester_denied: 'Let a provider admit these requesters, or cancel the jobs.',
}

/** Statuses that an operator's word ends. */
const RETURNABLE: ReadonlySet<string> = new Set(['PAUSED', 'SUSPENDED', 'JAILED'])

function providerChange(blocker: HeldUp, policy: Policy): Advice | null {
  const { kind, hold } = blocker
  const { check, provider, slots } = hold
  if (check === null || provider === null || check === 'capability_missing') {
    return { text: `Connect a worker that takes jobs of kind ${kind}.` }
  }
  if (check === 'model_unsupported') {
    return { text: `Connect a worker that offers ${namesText(blocker)}.` }
  }
  const own = OWN_TERMS[check]
  if (own !== undefined) return { text: own }
  if (check === 'lease_cap_reached') {
    if (slots === 0) return { text: `Start a worker of ${provider.id}.` }
    return { text: 'Connect another worker, or give one more slots.' }
  }
  const advice = adviceOn(check, provider, policy)
  if (advice === null) return null
  const text = `${provider.id}: ${advice}`
  if (check !== 'provider_not_active' || !RETURNABLE.has(provider.status)) return { text }
  const params = { provider_id: provider.id, status: 'ACTIVE' }
  return { text, method: 'aicf.setProviderStatus', params }
}

function jobsText({ jobs, kind, names }: HeldUp): string {
  const [only] = names
  const named = names.length === 1 && only?.name != null ? ` ${oneLine(only.name)}` : ''
  const word = kind === 'registration' ? 'registration' : `${kind} job`
  return `${jobs.toLocaleString('en')} ${word}${jobs === 1 ? '' : 's'}${named}`
}

function namesText({ names }: HeldUp): string {
  const shown = names.flatMap(({ name }) => (name === null ? [] : [oneLine(name)])).slice(0, 3)
  if (shown.length === 0) return 'what they ask for'
  return names.length > shown.length ? `${shown.join(', ')} and others` : shown.join(' or ')
}

function wait(jobs: number): string {
  return jobs === 1 ? 'waits' : 'wait'
}

function are(jobs: number): string {
  return jobs === 1 ? 'is' : 'are'
}

function first({ until }: HeldUp, at: number): string {
  return until === null
    ? ''
    : `, the first ${until <= at ? 'now' : `in ${durationText(until - at)}`}`
}

function soon(until: number | null, at: number): string {
  return until === null || until <= at ? '' : ` for another ${durationText(until - at)}`
}
