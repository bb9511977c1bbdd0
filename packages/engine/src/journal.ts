import type { AuditRecord, CborMap, Job, JournalRecord, Market, MarketEvent } from '@fairlead/core'

/** An event as subscribers get it. */
export type EngineEvent = MarketEvent & { readonly seq: number }

/** One record a transition: audit entry, event and line of a timeline in one (ENGINE-3). */
export class Journal {
  #seq: number
  #records: JournalRecord[] = []

  /** `seq` is that of the last entry. */
  constructor(seq: number) {
    this.#seq = seq
  }

  append(event: MarketEvent, actor: string, market: Market): void {
    const subject =
      'jobId' in event ? event.jobId : 'leaseId' in event ? event.leaseId : event.providerId
    const { type: action, at } = event
    const jobSeq = jobOf(event, market)?.enqueueSeq ?? null
    const seq = ++this.#seq
    this.#records.push({ seq, at, actor, action, subject, details: detailsOf(event), jobSeq })
  }

  /** What came in since the last call. */
  take(): readonly JournalRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }
}

/** An entry as the event that it was. */
export function eventOf(entry: AuditRecord & { readonly seq: number }): EngineEvent {
  const { action: type, at, details, seq } = entry
  return { type, at, ...details, seq } as unknown as EngineEvent
}

/** All of an event but what an entry has fields for. */
function detailsOf({ type: _type, at: _at, ...details }: MarketEvent): CborMap {
  return details as CborMap
}

function jobOf(event: MarketEvent, market: Market): Job | undefined {
  if ('jobId' in event) return market.jobs.get(event.jobId)
  return 'leaseId' in event ? market.leases.get(event.leaseId)?.job : undefined
}
