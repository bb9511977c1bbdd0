import { callerOf, taggedHashHex } from '@fairlead/core'
import { isOwnTask, webhookOf, webhookTask } from '@fairlead/core/internal'
import type { EngineEvent } from '@fairlead/engine'
import type { HookFilter, HookSettings } from './hook-settings.ts'
import type { JobFacts } from './job-facts.ts'

/** The caller of all deliveries. */
export const HOOK_CALLER = callerOf('fairlead:webhooks')

/** A webhook of the configuration. */
export interface Hook extends HookSettings {
  readonly id: string
}

/** What a delivery job carries: the bytes to send, and the id by which a receiver knows a repeat. */
export interface DeliveryArgs {
  readonly id: string
  readonly body: string
}

/** True if a webhook asks for this event. Events of jobs that a webhook made are never delivered (HOOK-2). */
export function isWanted(
  { filter }: Pick<Hook, 'filter'>,
  event: EngineEvent,
  job: JobFacts | null,
): boolean {
  if (job !== null && isOwnTask({ kind: job.kind, model: job.name })) return false
  const providerId = 'providerId' in event ? event.providerId : null
  if (webhookOf(providerId?.replace('provider:', '') ?? null) !== null) return false
  const caller = job?.caller ?? ('caller' in event ? event.caller : null)
  const { tags = [] } = job ?? {}
  return (
    isAmong(filter.kind, job?.kind) &&
    isAmong(filter.name, job?.name) &&
    isAmong(filter.caller, caller) &&
    isAmong(filter.providerId, providerId) &&
    (filter.tag.length === 0 || tags.some((tag) => filter.tag.includes(tag)))
  )
}

/** True if a webhook asks for events of this type. */
export function hasEvent({ events }: Pick<Hook, 'events'>, type: EngineEvent['type']): boolean {
  return events.includes(type) || events.includes('*')
}

/**
 * The request of the job that delivers an event. Its key is made of webhook and number, so an event that is looked at
 * again after a crash is enqueued once (HOOK-4).
 */
export function deliveryRequest(
  hook: Pick<Hook, 'id' | 'attempts'>,
  event: EngineEvent,
  job: JobFacts | null,
): Readonly<Record<string, unknown>> {
  const timestamp = new Date(event.at).toISOString()
  const body = JSON.stringify({ type: event.type, timestamp, data: event, job })
  const name = webhookTask(hook.id)
  // A restored backup may give another event this number. The body tells them apart.
  const id = `evt_${taggedHashHex('fairlead|webhook', hook.id, event.seq, body).slice(2, 34)}`
  return {
    kind: 'task',
    payload: { name, args: { id, body } satisfies DeliveryArgs },
    idempotency_key: `${name}:${event.seq}`,
    attempts: hook.attempts,
    backoff: BACKOFF,
  }
}

/** From five seconds to an hour. */
const BACKOFF = {
  base_ms: 5_000,
  factor_permille: 2_000,
  cap_ms: 3_600_000,
  jitter_permille: 200,
}

function isAmong(asked: HookFilter['name'], found: string | null | undefined): boolean {
  return asked.length === 0 || (found != null && asked.includes(found))
}
