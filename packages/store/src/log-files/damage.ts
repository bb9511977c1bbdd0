import type { FairleadError } from '@fairlead/core'
import { unavailable } from '../unavailable.ts'

/** A damaged place in a log. */
export interface Damage {
  readonly file: string
  readonly offset: number
  /** The first batch that cannot be read; null if no batch is lost. */
  readonly batch: number | null
  /** The defect, and the batches that it concerns. */
  readonly what: string
}

/** The refusal of a damaged log, with the place, the loss and what to do (LOG-9). */
export function damaged(path: string, damage: Damage): FairleadError {
  const { file, offset, batch, what } = damage
  const advice =
    batch === null
      ? 'no batch of the log is lost: move this file away and start again'
      : 'keep copies of the store and of all files of its log; then bring the files of the log back as they were, or go back ' +
        'to the last backup'
  return unavailable(path, 'damaged', `${file} is damaged at byte ${offset}: ${what}; ${advice}`, {
    details: { file, offset, batch },
  })
}

/** The defect where a batch cannot be read, though all up to `mark` had been confirmed. */
export function lostBatches(batch: number, mark: number): string {
  const lost = mark > batch ? `batches ${batch} to ${mark}` : `batch ${batch}`
  return `batch ${batch} is missing or damaged, and ${lost} had been confirmed`
}
