import { FairleadError } from '@fairlead/core'
import { isOwnTask } from '@fairlead/core/internal'

/**
 * Refuses a task under a name of the server's own work, which no worker can take: it would wait without end (HOOK-3).
 * Looked at before the request becomes a command, so a log that has such a task replays as it is.
 */
export function refuseOwnName(request: unknown): void {
  const { kind, payload } = (request ?? {}) as {
    readonly kind?: unknown
    readonly payload?: unknown
  }
  const { name } = (payload ?? {}) as { readonly name?: unknown }
  if (kind !== 'task' || typeof name !== 'string' || !isOwnTask({ kind, model: name })) return
  throw new FairleadError(
    'InvalidParams',
    "name: expected another name; those that begin with fairlead. are the server's own",
    { field: 'name' },
  )
}
