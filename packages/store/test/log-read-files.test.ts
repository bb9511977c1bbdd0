import { rmSync, truncateSync } from 'node:fs'
import { expect, it } from 'vitest'
import { appendAll, sampleRecord, sampleRecords } from '../src/conformance/sample-records.ts'
import { readLogFiles } from '../src/log-files/read-log-files.ts'
import { recordBytes } from '../src/log-files/record.ts'
import { HEADER_BYTES } from '../src/log-files/segment-header.ts'
import { TempLog } from './temp-log.ts'
import { tempPath } from './temp-store.ts'

const BYTES = recordBytes(sampleRecord(1, 1_000))

/** A closed log of 20 batches in three files. */
async function closedLog(): Promise<TempLog> {
  const temp = new TempLog()
  await temp.open()
  await appendAll(temp.log, sampleRecords(1, 20, 1_000))
  await temp.close()
  return temp
}

async function readAll(path: string) {
  const batches: number[] = []
  const findings: object[] = []
  for await (const item of readLogFiles(path)) {
    if (item.kind === 'record') {
      expect(item.record).toEqual(sampleRecord(item.record.batch, 1_000))
      batches.push(item.record.batch)
    } else {
      const { kind: _, ...finding } = item
      findings.push(finding)
    }
  }
  return { batches, findings }
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

it('LOG-12: every record is read with its place, and nothing is changed', async () => {
  const temp = await closedLog()
  const files = temp.files()
  expect(await readAll(temp.path)).toEqual({ batches: numbers(1, 20), findings: [] })
  const places: [string, number][] = []
  for await (const item of readLogFiles(temp.path)) places.push([item.file, item.offset])
  expect(places[6]).toEqual([temp.file(1), HEADER_BYTES + 6 * BYTES])
  expect(places[7]).toEqual([temp.file(2), HEADER_BYTES])
  expect(temp.files()).toEqual(files)
})

it('LOG-12: reading begins with the oldest record that was not trimmed', async () => {
  const temp = await closedLog()
  await temp.open()
  await temp.log.trim(9)
  expect(await readAll(temp.path)).toEqual({ batches: numbers(10, 20), findings: [] })
  temp.crash()
})

it('LOG-12: where no log is, nothing is found', async () => {
  expect(await readAll(tempPath())).toEqual({ batches: [], findings: [] })
})

it('LOG-12: each damaged place is a finding, and the records behind it are read', async () => {
  const temp = await closedLog()
  const files = temp.files()
  files.get(1)?.fill(0, HEADER_BYTES + BYTES + 40, HEADER_BYTES + 3 * BYTES - 40)
  files.get(2)?.writeUInt8(0, HEADER_BYTES + 6 * BYTES + 100)
  files.get(3)?.writeUInt8(0, HEADER_BYTES + 5 * BYTES + 100)
  temp.put(files)
  const at = (number: number, record: number) => ({
    file: temp.file(number),
    offset: HEADER_BYTES + record * BYTES,
    isDamage: true,
  })
  const text = (batches: string) => expect.stringContaining(`${batches} had been confirmed`)
  expect(await readAll(temp.path)).toEqual({
    batches: [1, ...numbers(4, 13), ...numbers(15, 19)],
    findings: [
      { ...at(1, 1), batch: 2, text: text('batches 2 to 3') },
      { ...at(2, 6), batch: 14, text: text('batch 14') },
      { ...at(3, 5), batch: 20, text: text('batch 20') },
    ],
  })
})

it('LOG-12: a record that a crash tore is a finding, and no damage', async () => {
  const temp = await closedLog()
  const files = temp.files()
  await temp.open()
  await temp.log.append(sampleRecord(21, 1_000))
  temp.crash()
  const from = HEADER_BYTES + 6 * BYTES
  temp
    .files()
    .get(3)
    ?.copy(files.get(3) as Buffer, from, from, from + 500)
  temp.put(files)
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(1, 20),
    findings: [
      {
        file: temp.file(3),
        offset: from,
        batch: 21,
        text: expect.stringContaining('was not confirmed'),
        isDamage: false,
      },
    ],
  })
})

it('LOG-12: missing and cut files, and headers that cannot be read, are findings', async () => {
  const temp = await closedLog()
  const files = temp.files()
  const finding = (file: number, batch: number | null, text: string) =>
    expect.objectContaining({
      file: temp.file(file),
      batch,
      text: expect.stringContaining(text),
      isDamage: true,
    })
  rmSync(temp.file(3))
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(1, 14),
    findings: [finding(2, 15, 'from batch 15 on is missing')],
  })
  temp.put(files)
  rmSync(temp.file(1))
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(8, 20),
    findings: [finding(2, 1, 'before batch 8 is missing')],
  })
  temp.put(files)
  rmSync(temp.file(2))
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(1, 7),
    findings: [finding(1, 8, 'from batch 8 on is missing')],
  })
  temp.put(files)
  truncateSync(temp.file(3), HEADER_BYTES + BYTES)
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(1, 15),
    findings: [finding(3, null, 'it was cut'), finding(3, 16, 'batches 16 to 20')],
  })
  temp.put(files)
  files.get(2)?.fill(1, 0, HEADER_BYTES)
  temp.put(files)
  expect(await readAll(temp.path)).toEqual({
    batches: numbers(1, 7),
    findings: [finding(2, null, 'header'), finding(1, 8, 'from batch 8 on is missing')],
  })
})
