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

  constructor(head: AuditHead) {
    this.#head = head
  }

  append(event: MarketEvent, actor: string, market: Market): void {
    const subject =
      'jobId' in event ? event.jobId : 'leaseId' in event ? event.leaseId : event.providerId
    const { type: action, at } = event
    const details = detailsOf(event)
    const { seq, prevHash, hash } = appendAudit(this.#head, { at, actor, action, subject, details })
    const jobId = jobOf(event, market)
    const row = { seq, at, actor, action, subject, details, prevHash, hash, jobId }
    this.#head = row
    this.#rows.push(row)
  }

  /** What came in since the last call. */
  take(): readonly JournalRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }
}

/** A stored row as the event that it was. */
export function eventOf(row: JournalRow): EngineEvent {
  return { type: row.action, at: row.at, ...row.details, seq: row.seq } as unknown as EngineEvent
}

/** All of an event but what an entry has fields for. */
function detailsOf(event: MarketEvent): CborMap {
  const details: Record<string, CborMap[string]> = {}
  for (const [key, value] of Object.entries(event)) {
    if (key !== 'type' && key !== 'at') details[key] = value
  }
  return details
}

function jobOf(event: MarketEvent, market: Market): JobId | null {
  if ('jobId' in event) return event.jobId
  return 'leaseId' in event ? (market.leases.get(event.leaseId)?.job.id ?? null) : null
}
