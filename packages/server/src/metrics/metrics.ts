import type { Engine } from '@fairlead/engine'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { HeapGuard } from '../heap-guard.ts'
import type { Logger } from '../log.ts'
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

/** Size, time and fate of commits. */
export function meterCommits(registry: Registry, store: MeteredStore, logger: Logger): void {
  const registers = [registry]
  const rows = new Histogram({
    name: 'fairlead_commit_rows',
    help: 'Rows of a commit.',
    buckets: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384],
    registers,
  })
  const seconds = new Histogram({
    name: 'fairlead_commit_duration_seconds',
    help: 'Time that a commit took until it was durable.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  const failures = new Counter({
    name: 'fairlead_commit_failures_total',
    help: 'Commits that the store refused.',
    registers,
  })
  store.onCommit((commit) => {
    rows.observe(commit.rows)
    seconds.observe(commit.ms / 1_000)
    if (!commit.isTaken) failures.inc()
    // Once, not for each: a disk that is full need not be filled with that, too.
    if (!commit.isTurn) return
    if (commit.isTaken) logger.warn({}, 'the store takes writes again')
    else logger.error({ err: commit.cause }, 'the store refuses writes')
  })
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
  const late = gauge('fairlead_engine_loop_lag_seconds', 'Worst delay of the event loop in 5 s.')

  return () => {
    const now = Date.now()
    const census = engine.view.census()
    for (const { kind, ready, backoff, budget, noProvider, ...rest } of census.queues) {
      const { notOpen, pacing, oldestAt } = rest
      queue.set({ kind, wait_reason: 'ready' }, ready)
      queue.set({ kind, wait_reason: 'backoff' }, backoff)
      queue.set({ kind, wait_reason: 'budget' }, budget)
      queue.set({ kind, wait_reason: 'no_provider' }, noProvider)
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
    late.set(lag.ms / 1_000)
    signupMeter.refresh()
  }
}
