import { type CborValue, decodeCbor, encodeCbor, type JobId } from '@fairlead/core'
import type { KeyedRow, Snapshot } from '@fairlead/core/internal'
import type { Command } from '../commands/command.ts'

/** The lane of results whose claims are not FINAL, each under its job. */
const LANE = 'held_result'

/** A completion that waits for its proof. */
export type HeldResult = Pick<
  Extract<Command, { type: 'complete' }>,
  'digest' | 'output' | 'contentType' | 'meta' | 'actualUnits'
>

/** The results of completed leases until their claims are FINAL (COMPLETE-2). Nobody can read them before. */
export class HeldResults {
  readonly #byJob: Map<JobId, HeldResult>
  readonly #rows = new Map<JobId, KeyedRow>()

  constructor({ lanes }: Snapshot) {
    const rows = lanes.filter(({ lane }) => lane === LANE)
    this.#byJob = new Map(rows.map(({ key, value }) => [key as JobId, resultIn(decodeCbor(value))]))
  }

  hold(jobId: JobId, { digest, output, contentType = null, meta, actualUnits }: HeldResult): void {
    const cells = [digest, output, contentType, meta, actualUnits]
    this.#byJob.set(jobId, { digest, output, contentType, meta, actualUnits })
    this.#rows.set(jobId, { lane: LANE, key: jobId, value: encodeCbor(cells) })
  }

  /** Ends the wait; null if nothing is held for the job. */
  release(jobId: JobId): HeldResult | null {
    const held = this.#byJob.get(jobId)
    if (held === undefined) return null
    this.#byJob.delete(jobId)
    this.#rows.set(jobId, { lane: LANE, key: jobId, value: null })
    return held
  }

  /** Takes the rows that changed since the last call. */
  take(): readonly KeyedRow[] {
    if (this.#rows.size === 0) return []
    const rows = [...this.#rows.values()]
    this.#rows.clear()
    return rows
  }
}

function resultIn(cells: CborValue): HeldResult {
  const [digest, output, contentType, meta, actualUnits] = cells as readonly [
    string,
    Uint8Array | null,
    string | null,
    Uint8Array | null,
    number | null,
  ]
  return { digest, output, contentType, meta, actualUnits }
}
