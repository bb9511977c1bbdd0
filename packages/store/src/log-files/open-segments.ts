import type { FairleadError } from '@fairlead/core'
import { invariant, type LogEnd } from '@fairlead/core/internal'
import { unavailable } from '../unavailable.ts'
import type { Disk } from './disk.ts'
import { recoverSegments } from './recover-segments.ts'
import { STORE_ID_BYTES } from './segment-header.ts'
import { SegmentSet } from './segment-set.ts'

export interface LogFilesOptions {
  /** 16 bytes. */
  readonly storeId: Uint8Array
  /** Where no log is, a new one begins behind this batch. Null: there must be a log. */
  readonly createAfter: number | null
  /** `relaxed` leaves it to the system when records reach the disk. */
  readonly durability?: 'full' | 'relaxed'
  /** The size of new files; 16 KiB at least. */
  readonly segmentBytes?: number
}

/** The state of a log when it was opened. */
export interface LogReport {
  /** The oldest batch of the log; the next one, if it is empty. */
  readonly first: number
  readonly end: LogEnd
  /** Bytes of records that a crash tore, and that were never confirmed. */
  readonly tornBytes: number
  readonly isNew: boolean
}

const SEGMENT_BYTES = 16 * 1_048_576
const SEGMENT_BYTES_MIN = 16_384

/** Opens the files of a log, or makes them. */
export function openSegments(
  disk: Disk,
  path: string,
  options: LogFilesOptions,
): { readonly segments: SegmentSet; readonly report: LogReport } {
  const { storeId, createAfter } = options
  invariant(storeId.length === STORE_ID_BYTES, 'the id of a store has 16 bytes')
  const segmentBytes = Math.max(options.segmentBytes ?? SEGMENT_BYTES, SEGMENT_BYTES_MIN)
  const { live, free, tornBytes } = recoverSegments(disk, path, storeId)
  const isNew = live.length === 0
  const segments = new SegmentSet(disk, { path, storeId, segmentBytes, live, free })
  try {
    if (isNew) {
      if (createAfter === null) throw logMissing(path)
      segments.begin(createAfter)
    }
    prepareSpare(segments)
  } catch (error) {
    segments.close()
    throw error
  }
  const newest = segments.live.findLast((segment) => segment.newest !== null)?.newest
  const end = { batch: segments.current.last, digest: newest?.digest ?? null }
  const first = segments.live[0]?.header.first ?? end.batch + 1
  return { segments, report: { first, end, tornBytes, isNew } }
}

/** On a full disk the log goes on without. */
function prepareSpare(segments: SegmentSet): void {
  try {
    segments.prepare()
  } catch {
    // It is made when it is needed, and then the error is told.
  }
}

function logMissing(path: string): FairleadError {
  const advice =
    'its log is missing, and the store was not closed cleanly; bring the files of the log back, or go back to the last backup'
  return unavailable(path, 'log_missing', advice)
}
