import { type Worker, worker } from '@fairlead/client'
import { webhookOf, webhookTask } from '@fairlead/core/internal'
import type { Engine } from '@fairlead/engine'
import { EventHub, type Logger } from '@fairlead/server'
import type { Resolve } from './address-guard.ts'
import { deliverer, type SecretSource } from './deliver.ts'
import { HOOK_CALLER, type Hook } from './delivery.ts'
import { HookFollower, RETRY_MS } from './hook-follower.ts'
import { JobFactsDesk } from './job-facts.ts'

/** Deliveries of one webhook at a time. A slow endpoint delays no other webhook. */
const CONCURRENCY = 8
/** How long a delivery under way may take when the server stops. */
const STOP_MS = 2_000

export interface RunningHooks {
  /** What is not delivered yet goes on at the next start. */
  close(): Promise<void>
}

/** Follows the journal for each webhook and works on its deliveries. */
export async function startHooks(parts: {
  readonly engine: Engine
  readonly hooks: readonly Hook[]
  readonly secrets: SecretSource
  readonly logger: Logger
  /** Finds the addresses of hosts; by default the system does. */
  readonly resolve?: Resolve
  readonly retryMs?: number
}): Promise<RunningHooks> {
  const { engine, hooks, secrets, logger, resolve, retryMs = RETRY_MS } = parts
  await endRemoved(engine, hooks)
  if (hooks.length === 0) return { close: async () => {} }
  const jobs = await JobFactsDesk.open(engine)
  const hub = await EventHub.open(engine)
  const followers: HookFollower[] = []
  const workers: Worker[] = []
  for (const hook of hooks) {
    const place = await engine.followers.begin(webhookTask(hook.id))
    followers.push(new HookFollower({ hook, engine, hub, jobs, logger, retryMs }, place))
    workers.push(workerOf(hook, { engine, secrets, logger, resolve }))
  }
  return {
    close: async () => {
      hub.close()
      await Promise.all(followers.map((follower) => follower.close()))
      await Promise.all(workers.map((one) => one.stop({ graceMs: STOP_MS })))
      jobs.close()
    },
  }
}

/** A webhook that is configured no more ends, and so do its deliveries (HOOK-7). */
async function endRemoved(engine: Engine, hooks: readonly Hook[]): Promise<void> {
  const kept = new Set(hooks.map(({ id }) => webhookTask(id)))
  for (const name of engine.followers.list().keys()) {
    if (webhookOf(name) === null || kept.has(name)) continue
    const filter = { kind: 'task', caller: HOOK_CALLER, model: name } as const
    await engine.bulk.start({ action: 'cancel', filter, by: 'operator' }, 'configuration')
    await engine.followers.end(name)
  }
}

function workerOf(
  hook: Hook,
  {
    engine,
    secrets,
    logger,
    resolve,
  }: {
    readonly engine: Engine
    readonly secrets: SecretSource
    readonly logger: Logger
    readonly resolve: Resolve | undefined
  },
): Worker {
  const name = webhookTask(hook.id)
  return worker({
    source: engine.leaseSource(),
    providerId: `provider:${name}`,
    kinds: ['task'],
    models: [name],
    concurrency: CONCURRENCY,
    handler: deliverer(hook, { engine, secrets, resolve }),
    onError: (err) => logger.debug({ err, hook: hook.id }, 'a delivery failed'),
    onNotice: (notice) => {
      if (notice !== null) logger.warn({ hook: hook.id, notice }, 'a webhook gets no work')
    },
  })
}
