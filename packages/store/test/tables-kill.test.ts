import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { brokenSeq, type JobId, type Store } from '@fairlead/core'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { abandon } from './open-logged.ts'
import { tempPath } from './temp-store.ts'

/** Rows of each kind in a batch of the writer. */
const ROWS = 100
const KILLS = process.env['LONG_TESTS'] ? 12 : 3

/** A writer in a process of its own, and the numbers of the batches that it had answered. */
class Writer {
  readonly process: ChildProcess
  answered = 0
  readonly #lines: AsyncIterator<string>

  constructor(path: string) {
    const script = join(import.meta.dirname, 'writer.mjs')
    this.process = spawn(process.execPath, ['--no-warnings', script, path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => {
      this.process.kill('SIGKILL')
    })
    const input = this.process.stdout
    if (input === null) throw new Error('the writer has no output')
    this.#lines = createInterface({ input })[Symbol.asyncIterator]()
  }

  async answers(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const { value, done } = await this.#lines.next()
      if (done === true) throw new Error('the writer stopped by itself')
      this.answered = Number(value)
    }
  }

  /** In the middle of whatever it does. */
  async kill(): Promise<void> {
    const exit = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await exit
    // What it had said before it died counts too.
    for (;;) {
      const { value, done } = await this.#lines.next()
      if (done === true) return
      this.answered = Number(value)
    }
  }
}

async function refusalOf(open: Promise<Store>): Promise<unknown> {
  return open.then(
    () => null,
    (error: unknown) => error,
  )
}

it('STORE-3: a second process is refused and told who holds the store, until that one dies', async () => {
  const path = tempPath()
  const writer = new Writer(path)
  await writer.answers(1)
  const { pid } = writer.process
  expect(await refusalOf(openSqliteStore(path))).toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringMatching(new RegExp(`process ${pid} on .+ since \\d{4}-.*stop that one`)),
    details: { reason: 'held', holder: { pid } },
  })
  await writer.answers(1)
  await writer.kill()
  const store = await openSqliteStore(path)
  expect(store.report).toMatchObject({ isNew: false, wasClean: false })
  await store.close()
})

it('STORE-3: the same process is refused too, until it has closed the store', async () => {
  const path = tempPath()
  const first = await openSqliteStore(path)
  const { pid } = process
  expect(await refusalOf(openSqliteStore(path))).toMatchObject({ details: { holder: { pid } } })
  // A refused second one must not have loosened the lock.
  const writer = new Writer(path)
  const [code] = await once(writer.process, 'exit')
  expect(code).toBe(1)
  await first.close()
  expect(existsSync(`${path}.holder`)).toBe(false)
  const second = await openSqliteStore(path)
  await second.close()
  await second.close()
})

it('STORE-13: after a kill the tables are as after one batch exactly, and the log has all others', async () => {
  const path = tempPath()
  for (let kill = 1; kill <= KILLS; kill++) {
    const writer = new Writer(path)
    await writer.answers(5 + 6 * kill)
    await writer.kill()
    const store = await openSqliteStore(path)
    expect(store.report.logBatch).toBeGreaterThanOrEqual(writer.answered)
    const { batch, jobs, leases, meta, lastEntry } = await store.tables.load()
    expect(store.report).toMatchObject({ wasClean: false, tablesBatch: batch })
    expect(meta['batch'] ?? '0').toBe(String(batch))
    expect(jobs).toHaveLength(batch * ROWS)
    expect(leases).toHaveLength(batch * ROWS)
    expect(lastEntry).toBe(batch * ROWS)
    const running = jobs.filter(({ status }) => status === 'RUNNING')
    expect(running).toHaveLength(Math.max(0, (batch - 1) * ROWS))
    expect(brokenSeq(await store.read.journal(0, batch * ROWS))).toBeNull()
    if (batch > 0) {
      const [payload] = await store.read.payloads([batch * ROWS])
      expect(payload).toEqual(new Uint8Array(2_000).fill(batch))
      expect(await store.read.timeline(jobs.at(-1)?.id as JobId)).toHaveLength(1)
    }
    // Left as it is, so that the next writer goes on behind it.
    await abandon(store)
  }
})
