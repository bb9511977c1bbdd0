import type { KindName } from './kinds.ts'

/** Tasks with names that begin so are work of the server itself. */
const OWN = 'fairlead.'
/** Deliveries of a webhook; its id follows. */
const WEBHOOK = 'fairlead.webhook.'

interface Named {
  readonly kind: KindName
  /** The name of a task. */
  readonly model: string | null
}

/** True for work of the server itself, which is given to nobody else (HOOK-3). */
export function isOwnTask({ kind, model }: Named): boolean {
  return kind === 'task' && model?.startsWith(OWN) === true
}

/** The name of the tasks that deliver the events of a webhook. */
export function webhookTask(hookId: string): string {
  return WEBHOOK + hookId
}

/** The webhook that a task is named after; null for any other name. */
export function webhookOf(name: string | null): string | null {
  return name?.startsWith(WEBHOOK) === true ? name.slice(WEBHOOK.length) : null
}
