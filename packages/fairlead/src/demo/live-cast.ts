import type { KindName } from '@fairlead/core'
import { LIVE_ADMIT } from './live-limits.ts'
import { OPENING_POLICY } from './opening-cast.ts'

/** A provider of the demo, and what is wrong with it. */
export interface LiveProvider {
  readonly name: string
  /** In a few words, for the report. */
  readonly manner: string
  readonly kinds: readonly KindName[]
  readonly models: readonly string[]
  /** Jobs at once. */
  readonly slots: number
  /** How long a job takes it, between these. */
  readonly workMs: readonly [number, number]
  /** Fails, declines or crashes at every n-th job. */
  readonly failsEvery?: number
  readonly declinesEvery?: number
  readonly crashesEvery?: number
}

const ALL: readonly KindName[] = ['ai', 'quantum', 'task']

/** Five, of which one is all right. */
export const LIVE_PROVIDERS: readonly LiveProvider[] = [
  { name: 'atlas', manner: 'steady', kinds: ALL, models: ['*'], slots: 4, workMs: [30, 90] },
  { name: 'borealis', manner: 'slow', kinds: ALL, models: ['*'], slots: 2, workMs: [300, 700] },
  {
    name: 'cirrus',
    manner: 'fails at times',
    kinds: ALL,
    models: ['*'],
    slots: 4,
    workMs: [30, 90],
    failsEvery: 12,
  },
  {
    name: 'delta',
    manner: 'declines at times',
    kinds: ALL,
    models: ['*'],
    slots: 4,
    workMs: [30, 90],
    declinesEvery: 25,
  },
  {
    name: 'ember',
    manner: 'crashes and comes back',
    kinds: ALL,
    models: ['*'],
    slots: 4,
    workMs: [30, 90],
    crashesEvery: 40,
  },
]

/** Who asks for work, and what it pays for. */
export const LIVE_TENANTS: readonly { readonly name: string; readonly tier: string }[] = [
  { name: 'acme', tier: 'PREMIUM' },
  { name: 'birch', tier: 'PRO' },
  { name: 'cobalt', tier: 'PRO' },
  { name: 'dune', tier: 'FREE' },
  { name: 'elm', tier: 'FREE' },
]

/** As a queue is run, with short waits: nobody watches a demo for minutes. */
export const LIVE_POLICY = {
  queue: {
    ack_timeout_ms: 2_000,
    worker_lost_ms: 3_000,
    retries: {
      base_backoff_ai_secs: 1,
      base_backoff_quantum_secs: 1,
      base_backoff_task_secs: 1,
    },
  },
  admit: LIVE_ADMIT,
  sessions: { platforms: { swimclub: OPENING_POLICY } },
} as const
