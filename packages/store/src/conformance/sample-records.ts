import type { Log, LogRecord } from '@fairlead/core/internal'

/** A record whose bytes tell its number. */
export function sampleRecord(batch: number, bytes = 40): LogRecord {
  const body = new Uint8Array(bytes)
  for (let i = 0; i < bytes; i++) body[i] = (batch * 31 + i * 7) % 251
  return { batch, digest: (batch * 2_654_435_761) % 2 ** 32, body }
}

export function sampleRecords(first: number, last: number, bytes = 40): LogRecord[] {
  return Array.from({ length: last - first + 1 }, (_, i) => sampleRecord(first + i, bytes))
}

export async function appendAll(log: Log, records: readonly LogRecord[]): Promise<void> {
  for (const record of records) await log.append(record)
}

/** The records after a batch, with bodies that can be compared. */
export async function recordsOf(log: Log, afterBatch = 0): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for await (const record of log.read(afterBatch)) {
    records.push({ ...record, body: new Uint8Array(record.body) })
  }
  return records
}
