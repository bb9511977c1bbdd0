import { type Policy, showPolicy } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { TokenStore } from '@fairlead/server'
import type { Config } from '../config/load-config.ts'

type Written = Readonly<Record<string, unknown>>

/** Callers that share a server may each have this part of its queue waiting. */
const CALLER_PARTS = 10

/**
 * The configured policy for a server with tokens: a caller may fill a tenth of the queue, unless
 * `queue.max_per_caller` is set. Without a limit one caller could fill it and lock out all others.
 */
export function withCallerShare({ writtenPolicy, policy, origins }: Config): Written | null {
  if (origins.has('queue.max_per_caller')) return writtenPolicy
  return withShareOf(writtenPolicy ?? {}, policy)
}

/** A written policy with the share of one caller in it. */
export function withShareOf(written: Written, { queue }: Policy): Written {
  const share = Math.floor(queue.maxDepth / CALLER_PARTS)
  return { ...written, queue: { ...(written['queue'] as object), max_per_caller: share } }
}

/** Puts the share in force on an engine that runs, unless a limit is in force or configured. */
export async function shareQueue(engine: Engine, { origins, settings }: Config): Promise<void> {
  const { policy } = engine.view
  if (origins.has('queue.max_per_caller') || policy.queue.maxPerCaller !== null) return
  const shared = withShareOf(showPolicy(policy), policy)
  await engine.setPolicy(shared, settings.preset, { actor: 'configuration' })
}

/** Shares the queue when the first token is made while the server runs. Gives the end of that. */
export function shareFromFirstToken(
  tokens: TokenStore,
  engine: Engine,
  config: Config,
  failed: (error: unknown) => void,
): () => void {
  if (!tokens.isEmpty()) return () => {}
  const stop = tokens.watch?.((problem) => {
    if (problem !== null || tokens.isEmpty()) return
    stop?.()
    shareQueue(engine, config).catch(failed)
  })
  return () => stop?.()
}
