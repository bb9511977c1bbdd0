import type { Engine } from '@fairlead/engine'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { HeapGuard } from '../heap-guard.ts'
import type { Logger } from '../log.ts'
import type { StorageDesk } from '../storage-desk.ts'
import type { EventMeter } from './event-meter.ts'
import type { LoopLag } from './loop-lag.ts'
import type { MeteredStore } from './metered-store.ts'
import type { SignupMeter } from './signup-meter.ts'

/** All metrics of one server, so that two in one process do not mix theirs. */
export function newRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Size, time and fate of appends to the log. */
export function meterAppends(registry: Registry, store: MeteredStore, logger: Logger): void {
  const registers = [registry]
  const bytes = new Histogram({
    name: 'fairlead_append_bytes',
    help: 'Bytes of a batch of commands.',
    buckets: [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144],
    registers,
  })
  const seconds = new Histogram({
    name: 'fairlead_append_duration_seconds',
    help: 'Time that an append to the log took until it was durable.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  const failures = new Counter({
    name: 'fairlead_append_failures_total',
    help: 'Appends that the log refused.',
    registers,
  })
  store.onAppend((append) => {
    bytes.observe(append.bytes)
    seconds.observe(append.ms / 1_000)
    if (!append.isTaken) failures.inc()
    // Once, not for each: a disk that is full need not be filled with that, too.
    if (!append.isTurn) return
    if (append.isTaken) logger.warn({}, 'the store takes writes again')
    else logger.error({ err: append.cause }, 'the store refuses writes')
  })
}

/** The size of the log, and how far the tables are behind it. A store without files does not tell. */
export function meterStorage(registry: Registry, storage: StorageDesk): void {
  const figures = {
    fairlead_log_bytes: ['log_bytes', 'Bytes of the files of the log.'],
    fairlead_log_batches: [
      'log_batches',
      'Batches that the log keeps; a start after a crash replays most of them.',
    ],
    fairlead_tables_behind_changes: [
      'behind_changes',
      'Changes that the tables do not have yet; from 200000 on enqueues wait.',
    ],
  } as const
  for (const [name, [field, help]] of Object.entries(figures)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => {
        // A store that is down says nothing, and must not hide the other metrics.
        const found = await storage.figures().catch(() => null)
        if (found !== null) gauge.set(found[field])
      },
    })
  }
}

/** What is looked at when somebody asks for the metrics. */
export function meterState(
  registry: Registry,
  parts: {
    readonly engine: Engine
    readonly meter: EventMeter
    readonly signupMeter: SignupMeter
    readonly lag: LoopLag
    readonly connections: () => { websocket: number; polls: number }
    readonly heap: HeapGuard
  },
): () => void {
  const { engine, meter, signupMeter, lag, connections, heap } = parts
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })

  const queue = gauge('fairlead_queue_jobs', 'Waiting jobs by what holds them.', [
    'kind',
    'wait_reason',
  ])
  const oldest = gauge('fairlead_queue_oldest_wait_seconds', 'Age of the oldest waiting job.', [
    'kind',
  ])
  const leases = gauge('fairlead_leases', 'Live leases.')
  const workers = gauge('fairlead_workers', 'Connected workers.')
  const providers = gauge('fairlead_providers', 'Providers by status.', ['status'])
  const worst = gauge(
    'fairlead_provider_health_min_ratio',
    'Health of the least healthy ACTIVE provider.',
  )
  const mean = gauge('fairlead_provider_health_mean_ratio', 'Mean health of the ACTIVE providers.')
  const sockets = gauge('fairlead_websocket_connections', 'Open WebSockets.')
  const polls = gauge('fairlead_open_polls', 'Long polls that wait for an answer.')
  const jain = gauge(
    'fairlead_fairness_jain_ratio',
    'Jain index of the units that callers were given.',
  )
  const live = gauge('fairlead_heap_live_bytes', 'Memory of the heap that is alive.')
  const liveMax = gauge(
    'fairlead_heap_live_max_bytes',
    'Enqueues are refused while more than this is alive.',
  )
  const refused = gauge(
    'fairlead_chain_blocks_refused',
    'Blocks since the start that would have undone what is final.',
  )
  const late = gauge('fairlead_engine_loop_lag_seconds', 'Worst delay of the event loop in 5 s.')

  return () => {
    const now = Date.now()
    const census = engine.view.census()
    for (const { kind, ready, backoff, budget, noProvider, paused, ...rest } of census.queues) {
      const { notOpen, pacing, oldestAt } = rest
      queue.set({ kind, wait_reason: 'ready' }, ready)
      queue.set({ kind, wait_reason: 'backoff' }, backoff)
      queue.set({ kind, wait_reason: 'budget' }, budget)
      queue.set({ kind, wait_reason: 'no_provider' }, noProvider)
      if (kind !== 'registration') queue.set({ kind, wait_reason: 'paused' }, paused)
      if (kind === 'registration') {
        queue.set({ kind, wait_reason: 'not_open' }, notOpen)
        queue.set({ kind, wait_reason: 'pacing' }, pacing)
      }
      oldest.set({ kind }, oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1_000)
    }
    for (const [status, count] of Object.entries(census.providers)) providers.set({ status }, count)
    leases.set(census.leases)
    workers.set(census.workers)
    const active = engine.view.providers().filter(({ status }) => status === 'ACTIVE')
    const health = active.map((provider) => provider.health / 1_000)
    worst.set(health.length === 0 ? 1 : Math.min(...health))
    mean.set(health.length === 0 ? 1 : health.reduce((a, b) => a + b, 0) / health.length)
    const { websocket, polls: open } = connections()
    sockets.set(websocket)
    polls.set(open)
    jain.set(meter.shares.index(now) ?? 1)
    const figures = heap.figures
    live.set(figures.live)
    liveMax.set(figures.liveMax)
    refused.set(engine.fund.blocksRefused)
    late.set(lag.ms / 1_000)
    signupMeter.refresh()
  }
}
