import { words } from './ids.ts'

/** Ends whose name on the wire says something else to people than it means. */
const SAID: Readonly<Record<string, string>> = {
  provider_fail: 'failed',
  ack_timeout: 'not acknowledged',
  released: 'given back',
  disowned: 'lost by its worker',
  provider_status: 'taken back',
  over_cap: 'taken back',
  job_ended: 'ended with its job',
  cancelled: 'ended early',
}

/** How an attempt ended early: a lease is CANCELLED by any such end, and by nobody's wish. */
export function attemptEnd(reason: string): string {
  return SAID[reason] ?? words(reason)
}
