import type { KindName } from '../enqueue/kinds.ts'
import { ownRetentionSecs } from '../options/terms.ts'
import type { Policy } from '../policy/policy.ts'

interface Named {
  readonly kind: KindName
  readonly model: string | null
}

/** How long a job is kept after its end: as its name or kind says, else as all are (TTL-3, TTL-5). */
export function retentionSecs(job: Named, policy: Policy): number {
  return keptSecs(policy, ownRetentionSecs(job, policy) ?? policy.queue.ttl.gcHorizonSecs)
}

/** The longest retention of all. Nobody has to look at jobs that are older than that. */
export function longestRetentionSecs(policy: Policy): number {
  const { gcHorizonSecs } = policy.queue.ttl
  return keptSecs(policy, Math.max(gcHorizonSecs, ...ownRetentions(policy)))
}

/** The other retentions that jobs may have, without repeats. */
export function shorterRetentions(policy: Policy): number[] {
  const longest = longestRetentionSecs(policy)
  const all = [policy.queue.ttl.gcHorizonSecs, ...ownRetentions(policy)]
  return [...new Set(all.map((secs) => keptSecs(policy, secs)))].filter((secs) => secs < longest)
}

/** Jobs stay for as long as the requester window needs their assignments, which are stored nowhere else. */
function keptSecs({ queue }: Policy, secs: number): number {
  return Math.max(secs, queue.quotas.requesterWindow?.secs ?? 0)
}

function ownRetentions({ kinds, tasks }: Policy): number[] {
  return [...Object.values(kinds), ...Object.values(tasks)].flatMap(
    (one) => one.retentionSecs ?? [],
  )
}
