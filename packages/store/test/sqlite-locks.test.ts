import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { brokenSeq, type JobId, type Store } from '@fairlead/core'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

/** Rows of each kind in a batch of the writer. */
const ROWS = 100
const KILLS = 4

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
  expect((await store.load()).jobs.length).toBeGreaterThanOrEqual(2 * ROWS)
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

it('STORE-13: after a kill every answered commit is there, and no half of another', async () => {
  const path = tempPath()
  for (let kill = 1; kill <= KILLS; kill++) {
    const writer = new Writer(path)
    await writer.answers(3 * kill)
    await writer.kill()
    const store = await openSqliteStore(path)
    const { jobs, leases, meta, lastEntry } = await store.load()
    const batches = Number(meta['batch'])
    expect(batches).toBeGreaterThanOrEqual(writer.answered)
    expect(batches).toBeLessThanOrEqual(writer.answered + 1)
    expect(jobs).toHaveLength(batches * ROWS)
    expect(leases).toHaveLength(batches * ROWS)
    expect(lastEntry).toBe(batches * ROWS)
    const [payload] = await store.read.payloads([batches * ROWS])
    expect(payload).toEqual(new Uint8Array(2_000).fill(batches))
    expect(brokenSeq(await store.read.journal(0, batches * ROWS))).toBeNull()
    const last = jobs.at(-1)
    expect(last?.seq).toBe(batches * ROWS)
    expect(await store.read.timeline(last?.id as JobId)).toHaveLength(1)
    await store.close()
  }
})
