import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { encodeCbor } from '@fairlead/core'
import type { LogRecord } from '@fairlead/core/internal'
import { encodeBatch, Sealer } from '@fairlead/engine'
import { MemoryLog } from '@fairlead/store/memory'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ArchivedLog } from '../dist/serve/archived-log.js'
import { LogArchive } from '../dist/serve/log-archive.js'
import { type CliServer, fairlead, serve } from './cli-process.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const GENEROUS = { days: 36_500, bytes: 2 ** 40 }

let folder: string
let server: CliServer | null = null

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-archive-'))
})

afterEach(async () => {
  await server?.stop()
  server = null
  rmSync(folder, { recursive: true })
})

function record(batch: number): LogRecord {
  const entry = { command: { type: 'beat' } as const, at: 1_000 + batch }
  return { batch, digest: batch, body: encodeBatch({ entries: [entry], digest: batch }) }
}

async function logWith(batches: number): Promise<MemoryLog> {
  const log = new MemoryLog()
  for (let batch = 1; batch <= batches; batch++) await log.append(record(batch))
  return log
}

/** As the log in files has it. */
function withStats(log: MemoryLog, oldest = 1) {
  const stats = async () => ({ bytes: 0, segments: 1, oldest, newest: log.end.batch })
  return Object.assign(log, { stats })
}

function lines(path: string): { batch: number; commands: Record<string, unknown>[] }[] {
  const text = readdirSync(path)
    .sort()
    .map((name) => gunzipSync(readFileSync(join(path, name))).toString())
    .join('')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function firstBatches(path: string): number[] {
  return readdirSync(path)
    .filter((name) => name.endsWith('.gz'))
    .map((name) => Number(name.slice(4, 16)))
    .sort((a, b) => a - b)
}

async function batchesAfter(log: MemoryLog, after: number): Promise<number[]> {
  const found: number[] = []
  for await (const { batch } of log.read(after)) found.push(batch)
  return found
}

describe('a log with an archive', () => {
  it('ARCHIVE-1: the name of a file is durable before its records are trimmed', async () => {
    const probe = await open(join(folder, 'probe'), 'w')
    const syncs = vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'sync')
    onTestFinished(() => syncs.mockRestore())
    await probe.close()
    const archive = new LogArchive({ folder: join(folder, 'archive'), ...GENEROUS })
    // The second write gives the file another name.
    for (const batch of [1, 2]) await archive.write([record(batch)])
    expect(syncs).toHaveBeenCalledTimes(2)
    await archive.close()
  })

  it('ARCHIVE-1: archives a record as a whole, though the disk takes a part of it at first', async () => {
    const path = join(folder, 'archive')
    const probe = await open(join(folder, 'probe'), 'w')
    const handles = Object.getPrototypeOf(probe) as FileHandle
    await probe.close()
    const write = handles.write as (...given: unknown[]) => unknown
    const short = vi.spyOn(handles, 'write').mockImplementationOnce(function (
      this: FileHandle,
      ...[bytes, from, length, at]: unknown[]
    ) {
      const part = (length as number) >> 1
      return write.call(this, bytes, from, part, at)
    } as never)
    onTestFinished(() => short.mockRestore())
    const log = withStats(await logWith(3))
    const archived = new ArchivedLog(log, {
      archive: new LogArchive({ folder: path, ...GENEROUS }),
      logger: SILENT,
    })
    await archived.trim(3)
    await archived.finish()
    expect(lines(path).map(({ batch }) => batch)).toEqual([1, 2, 3])
  })

  it('ARCHIVE-1: writes every record before it is trimmed, once, in files named by their batches', async () => {
    const log = await logWith(10)
    const archive = new LogArchive({ folder, ...GENEROUS })
    const archived = new ArchivedLog(withStats(log), { archive, logger: SILENT })
    await Promise.all([archived.trim(4), archived.trim(4), archived.trim(7)])
    expect(lines(folder).map(({ batch }) => batch)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(readdirSync(folder)).toEqual(['log-000000000001-000000000007-00000007.jsonl.gz'])
    expect(statSync(join(folder, readdirSync(folder)[0] as string)).mode & 0o777).toBe(0o600)
    expect(await batchesAfter(log, 7)).toEqual([8, 9, 10])
    await archived.finish()
    // The next process begins another file.
    const next = new ArchivedLog(withStats(log, 8), {
      archive: new LogArchive({ folder, ...GENEROUS }),
      logger: SILENT,
    })
    await next.trim(9)
    await next.finish()
    expect(readdirSync(folder)).toHaveLength(2)
    expect(lines(folder).map(({ batch }) => batch)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(lines(folder)[0]?.commands).toEqual([{ at: 1_001, type: 'beat' }])
  })

  it('ARCHIVE-3: while the archive fails nothing is trimmed for ten minutes, and then all is', async () => {
    const log = await logWith(10)
    const told: string[] = []
    const tell = (_: object, text: string) => told.push(text)
    let now = 0
    let isFull = true
    const kept = new LogArchive({ folder, ...GENEROUS })
    const archive = {
      write: async (records: readonly LogRecord[]) => {
        if (isFull) throw new Error('no space')
        await kept.write(records)
      },
      close: () => kept.close(),
    }
    const logger = { ...SILENT, error: tell, warn: tell }
    const archived = new ArchivedLog(withStats(log), { archive, logger, now: () => now })
    await expect(archived.trim(2)).rejects.toThrow('no space')
    now = 599_999
    await expect(archived.trim(3)).rejects.toThrow('no space')
    expect(await batchesAfter(log, 0)).toHaveLength(10)
    now = 600_000
    await archived.trim(4)
    expect(await batchesAfter(log, 4)).toHaveLength(6)
    await expect(archived.trim(5)).rejects.toThrow('no space')
    isFull = false
    await archived.trim(6)
    expect(told).toEqual([
      'the log cannot be archived',
      'batches are trimmed without being archived',
      'the log is archived again',
    ])
    await archived.finish()
    expect(lines(folder).map(({ batch }) => batch)).toEqual([5, 6])
  })

  it('ARCHIVE-3: a write that failed leaves no part of itself, and the next begins another file', async () => {
    const archive = new LogArchive({ folder, ...GENEROUS })
    await archive.write([record(1)])
    rmSync(folder, { recursive: true })
    await expect(archive.write([record(2)])).rejects.toThrow('ENOENT')
    await archive.write([record(2)])
    await archive.close()
    expect(lines(folder).map(({ batch }) => batch)).toEqual([2])
  })

  it('ARCHIVE-4: old files go by age and by size, and no others', async () => {
    const small = { folder, segmentBytes: 1 }
    const archive = new LogArchive({ ...small, ...GENEROUS })
    for (let batch = 1; batch <= 4; batch++) await archive.write([record(batch)])
    writeFileSync(join(folder, 'notes.txt'), 'of the operator')
    const [first = '', ...rest] = readdirSync(folder)
    const size = statSync(join(folder, first)).size
    for (const [i, name] of [first, ...rest].entries()) {
      const at = Date.now() / 1_000 - (name === first ? 3 * 86_400 : 100 - i)
      utimesSync(join(folder, name), at, at)
    }
    const aged = new LogArchive({ ...small, days: 2, bytes: 2 ** 40 })
    await aged.write([record(5)])
    expect(firstBatches(folder)).toEqual([2, 3, 4, 5])
    const sized = new LogArchive({ ...small, days: 36_500, bytes: 3 * size + 8 })
    await sized.write([record(6)])
    expect(firstBatches(folder)).toEqual([4, 5, 6])
    expect(readdirSync(folder)).toContain('notes.txt')
  })
})

it('ARCHIVE-2: of completions only those of registrations lose their output', async () => {
  const leaseId = `0x${'1'.repeat(64)}`
  const output = Buffer.from(encodeCbor({ outcome: 'booked', booking_number: 'B-1007' }))
  const complete = { type: 'complete', leaseId, by: 'provider:p', digest: `0x${'2'.repeat(64)}` }
  const rest = { output, meta: null, actualUnits: null }
  const sealed = new Sealer([new Uint8Array(32).fill(1)]).result(rest, leaseId as never)
  const commands = [
    { ...complete, ...rest },
    { ...complete, ...rest, ...sealed },
  ]
  const entries = commands.map((command) => ({ command: command as never, at: 1_000 }))
  const archive = new LogArchive({ folder, ...GENEROUS })
  await archive.write([{ batch: 1, digest: 1, body: encodeBatch({ entries, digest: 1 }) }])
  await archive.close()
  const outputs = lines(folder)[0]?.commands.map((command) => command['output'])
  expect(outputs).toEqual([`0x${output.toString('hex')}`, null])
})

it('ARCHIVE-2: of registrations no payload, user or output is archived, and doctor looks at the archive', async () => {
  const archive = ['--set', 'store.archive=archive']
  server = await serve(folder, ...archive)
  const run = (...args: string[]) =>
    fairlead(args, { cwd: folder, env: { FAIRLEAD_URL: server?.url ?? 'http://127.0.0.1:9' } })
  const opens = ['--opens', '2050-01-01T00:00:00Z']
  const scheduled = await run(
    'registrations',
    'schedule',
    'swim',
    'north',
    'course',
    'user-1',
    ...opens,
  )
  expect(scheduled).toMatchObject({ code: 0 })
  expect(await run('enqueue', 'task', 'resize', '{"width": 7}')).toMatchObject({ code: 0 })
  await server.stop()
  server = null
  const commands = lines(join(folder, 'archive')).flatMap((line) => line.commands)
  const [registration, task] = commands
    .filter(({ type }) => type === 'enqueue')
    .map((one) => one as { session: unknown; request: Record<string, unknown> })
  expect(registration).toMatchObject({ session: null, request: { kind: 'registration' } })
  expect(registration?.request).not.toHaveProperty('payloadCbor')
  expect(task?.request).toMatchObject({ kind: 'task', payloadCbor: expect.stringMatching(/^0x/) })
  const fine = await run('doctor', '--set', 'server.port=0', ...archive)
  expect(fine.out).toMatch(/ok +archive +\S+archive has \S+ \S+ in 1 files/)
  rmSync(join(folder, 'archive'), { recursive: true })
  writeFileSync(join(folder, 'archive'), 'no folder')
  const wrong = await run('doctor', '--set', 'server.port=0', ...archive)
  expect(wrong.out).toMatch(/FAIL +archive +The log cannot be archived/)
})
