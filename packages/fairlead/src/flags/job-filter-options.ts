import type { Option } from '../command.ts'

/** Flags that choose jobs. */
export interface JobFilterFlags {
  readonly status?: string
  readonly kind?: string
  readonly name?: string
  readonly provider?: string
  readonly caller?: string
  readonly tag?: string
  readonly key?: string
  readonly dedupeKey?: string
  readonly schedule?: string
  readonly waitReason?: string
  readonly error?: string
  readonly since?: string
  readonly until?: string
}

export const JOB_FILTER_OPTIONS: readonly Option[] = [
  {
    flags: '--status <status>',
    text: 'QUEUED, ASSIGNED, RUNNING, COMPLETED, FAILED, EXPIRED, CANCELED',
  },
  { flags: '--kind <kind>', text: 'ai, quantum, task, registration' },
  { flags: '--name <name>', text: 'task name, model, or platform of a registration' },
  { flags: '--provider <id>', text: 'those whose newest attempt it has or had' },
  { flags: '--caller <id>', text: 'those of one requester' },
  { flags: '--tag <text>', text: 'those with this tag' },
  { flags: '--key <text>', text: 'the one with this idempotency key' },
  { flags: '--dedupe-key <text>', text: 'those with this dedupe key' },
  { flags: '--schedule <id>', text: 'those that this schedule enqueued' },
  {
    flags: '--wait-reason <reason>',
    text: 'paused, not_open, scheduled, dependencies, backoff, pacing, budget, proof, no_provider, ready',
  },
  { flags: '--error <code>', text: 'those whose last failure had this code' },
  { flags: '--since <time>', text: 'enqueued since then, as 2026-01-31 or 12h' },
  { flags: '--until <time>', text: 'enqueued before then' },
]
