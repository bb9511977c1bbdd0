import {
  type AuditHead,
  appendAudit,
  type CborMap,
  type JobId,
  type JournalRow,
  type Market,
  type MarketEvent,
} from '@fairlead/core'

/** An event as subscribers get it. */
export type EngineEvent = MarketEvent & { readonly seq: number }

/** One row a transition: audit entry, event and line of a timeline in one (ENGINE-3). */
export class Journal {
  #head: AuditHead
  #rows: JournalRow[] = []
  #events: EngineEvent[] = []

  constructor(head: AuditHead) {
    this.#head = head
  }

  append(event: MarketEvent, actor: string, market: Market): void {
    const { type, at, ...fields } = event
    const jobId = jobOf(event, market)
    const subject =
      'jobId' in event ? event.jobId : 'leaseId' in event ? event.leaseId : event.providerId
    const details = fields as unknown as CborMap
    const entry = appendAudit(this.#head, { at, actor, action: type, subject, details })
    this.#head = entry
    this.#rows.push({ ...entry, jobId })
    this.#events.push({ ...event, seq: entry.seq })
  }

  /** What came in since the last call. */
  take(): { readonly rows: readonly JournalRow[]; readonly events: readonly EngineEvent[] } {
    const taken = { rows: this.#rows, events: this.#events }
    this.#rows = []
    this.#events = []
    return taken
  }
}

/** A stored row as the event that it was. */
export function eventOf(row: JournalRow): EngineEvent {
  return { type: row.action, at: row.at, ...row.details, seq: row.seq } as unknown as EngineEvent
}

function jobOf(event: MarketEvent, market: Market): JobId | null {
  if ('jobId' in event) return event.jobId
  return 'leaseId' in event ? (market.leases.get(event.leaseId)?.job.id ?? null) : null
}
