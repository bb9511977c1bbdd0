import {
  claimedRecord,
  decodeRecord,
  type FoundRecord,
  RECORD_HEAD_BYTES,
  type RecordSeed,
  searchRecord,
} from './record.ts'

/** Where a record is, and the checksum of the one before it. */
export interface RecordPlace {
  readonly batch: number
  readonly at: number
  readonly chain: number
}

const CHUNK_BYTES = 1_048_576

/**
 * The records of a segment from a place on, one number after the other. Ends before the first that is not whole or does
 * not continue the one before it. The bodies are views of what `read` returned.
 */
export function* readRecords(
  read: (at: number, bytes: number) => Buffer,
  {
    seed,
    from,
    until,
  }: { readonly seed: RecordSeed; readonly from: RecordPlace; readonly until: number },
): Generator<FoundRecord, void> {
  let { batch, at, chain } = from
  let base = at
  let content: Buffer = Buffer.alloc(0)
  /** Has at least so many bytes from `at` on in the content, if the segment has them. */
  const hold = (bytes: number): boolean => {
    if (at + bytes > until) return false
    if (at + bytes > base + content.length) {
      base = at
      content = read(at, Math.min(Math.max(bytes, CHUNK_BYTES), until - at))
    }
    return bytes <= base + content.length - at
  }
  while (hold(RECORD_HEAD_BYTES)) {
    const claimed = claimedRecord(content, at - base, seed)
    if (claimed?.batch !== batch || !hold(claimed.bytes)) return
    const record = decodeRecord(content, at - base, { seed, base })
    if (record === null || record.chain !== chain) return
    yield record
    batch++
    at = record.end
    chain = record.crc
  }
}

/** All whole records of a segment at or after a place, also those that do not follow each other. */
export function* searchRecords(
  read: (at: number, bytes: number) => Buffer,
  {
    seed,
    from,
    until,
  }: { readonly seed: RecordSeed; readonly from: number; readonly until: number },
): Generator<FoundRecord, void> {
  const rest = read(from, until - from)
  for (let at = 0; ; ) {
    const found = searchRecord(rest, at, { seed, base: from })
    if (found === null) return
    yield found
    at = found.end - from
  }
}
