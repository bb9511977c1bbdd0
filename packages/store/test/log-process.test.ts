import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { recordsOf, sampleRecord, sampleRecords } from '../src/conformance/sample-records.ts'
import { type FileLog, openLogFiles } from '../src/log-files/open-log.ts'
import { readLogFiles } from '../src/log-files/read-log-files.ts'
import { STORE_ID } from './temp-log.ts'
import { tempPath } from './temp-store.ts'

const WRITER = join(import.meta.dirname, 'log-writer.mjs')
const OPTIONS = { storeId: STORE_ID, createAfter: 0, segmentBytes: 65_536 }

const KILLS = process.env['LONG_TESTS'] ? 60 : 3

async function open(path: string): Promise<FileLog> {
  return (await openLogFiles(path, OPTIONS)).log
}

/** Starts a writer. `until` resolves when it has confirmed so many records, `end` with the last one that it told of. */
function startWriter(path: string, durability: string) {
  const child: ChildProcess = spawn(process.execPath, ['--no-warnings', WRITER, path, durability])
  let told = ''
  let count = 0
  let wake: () => void = () => {}
  child.stdout?.on('data', (text) => {
    told += String(text)
    count = told.split('\n').length - 1
    wake()
  })
  let said = ''
  child.stderr?.on('data', (text) => {
    said += String(text)
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  return {
    until: async (records: number): Promise<void> => {
      while (count < records && child.exitCode === null) {
        await Promise.race([ended, new Promise<void>((resolve) => (wake = resolve))])
      }
      expect(said).toBe('')
    },
    kill: async (): Promise<number> => {
      child.kill('SIGKILL')
      await ended
      return Math.max(0, ...told.split('\n').map(Number))
    },
  }
}

it('LOG-13: every confirmed record is there after its process was killed', async () => {
  const path = tempPath()
  for (let kill = 1; kill <= KILLS; kill++) {
    const writer = startWriter(path, kill % 3 === 0 ? 'relaxed' : 'full')
    await writer.until(kill * 11)
    const confirmed = await writer.kill()
    const log = await open(path)
    const { batch } = log.end
    expect(batch).toBeGreaterThanOrEqual(confirmed)
    // Four are under way at a time.
    expect(batch).toBeLessThanOrEqual(confirmed + 4)
    const { oldest } = await log.stats()
    const expected = Array.from({ length: batch - oldest + 1 }, (_, i) =>
      sampleRecord(oldest + i, ((oldest + i) * 997) % 5_000),
    )
    expect(await recordsOf(log, oldest - 1)).toEqual(expected)
    await log.close()
  }
})

it('LOG-12: a log can be read while a process writes and trims it', async () => {
  const path = tempPath()
  const writer = startWriter(path, 'full')
  let seen = 0
  for (let round = 1; round <= 5; round++) {
    await writer.until(round * 60)
    let last = 0
    for await (const item of readLogFiles(path)) {
      if (item.kind === 'finding') expect(item).toMatchObject({ isDamage: false })
      if (item.kind !== 'record') continue
      const { batch, body } = item.record
      if (last > 0 && batch <= last) throw new Error(`batch ${batch} comes after ${last}`)
      last = batch
      expect(Buffer.compare(body, sampleRecord(batch, (batch * 997) % 5_000).body)).toBe(0)
    }
    expect(last).toBeGreaterThan(seen)
    seen = last
  }
  await writer.kill()
})

it.each([
  ['with its log open', 'leave'],
  ['and closes its log', 'close'],
])('LOG-14: a process ends by itself %s, and every append is awaited', async (_, end) => {
  const path = tempPath()
  const args = ['--no-warnings', WRITER, path, 'full', '30', end]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ last: stdout.trim().split('\n').length, stderr, status }).toEqual({
    last: 30,
    stderr: '',
    status: 0,
  })
  const log = await open(path)
  expect(log.end.batch).toBe(30)
  await log.close()
})

it('LOG-14: a process may exit in the middle of an append, with its own code, and harms nothing', async () => {
  const path = tempPath()
  const script = `
    import { openLogFiles } from './dist/log-files/open-log.js'
    import { sampleRecords } from './dist/conformance/sample-records.js'
    const storeId = Uint8Array.from({ length: 16 }, (_, i) => i)
    const { log } = await openLogFiles(${JSON.stringify(path)}, { storeId, createAfter: 0 })
    const appends = sampleRecords(1, 500, 20_000).map((record) => log.append(record))
    await appends[0]
    process.exit(7)`
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', script],
    { cwd: join(import.meta.dirname, '..'), encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({ status: 7, stderr: '' })
  const log = await open(path)
  const { batch } = log.end
  expect(batch).toBeGreaterThan(0)
  expect((await recordsOf(log)).map((record) => record.batch)).toEqual(
    sampleRecords(1, batch, 0).map((record) => record.batch),
  )
  await log.close()
})

it('LOG-14: on a thread of its own, a log does and refuses the same', async () => {
  const path = tempPath()
  const log = await open(path)
  const records = sampleRecords(1, 40, 3_000)
  await Promise.all(records.map((record) => log.append(record)))
  expect(await recordsOf(log)).toEqual(records)
  await log.append(sampleRecord(40, 3_000))
  await expect(log.append(sampleRecord(42))).rejects.toMatchObject({
    code: 'StoreUnavailable',
    details: { reason: 'not_next', next: 41 },
  })
  await log.trim(38)
  await log.scrub()
  await expect(recordsOf(log, 3)).rejects.toMatchObject({ details: { reason: 'trimmed' } })
  expect(await log.stats()).toMatchObject({ oldest: 39, newest: 40 })
  const closing = log.close()
  await expect(log.append(sampleRecord(41))).rejects.toMatchObject({
    details: { reason: 'closed' },
  })
  await closing
  const again = await open(path)
  expect(again.end).toEqual({ batch: 40, digest: sampleRecord(40).digest })
  expect(await recordsOf(again, 38)).toEqual(records.slice(38))
  await again.close()
  await expect(
    openLogFiles(path, { ...OPTIONS, storeId: Uint8Array.from(STORE_ID).fill(1) }),
  ).rejects.toMatchObject({ details: { reason: 'other_store' } })
})
