import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Job, openQueue, type Queue } from '../../dist/index.js'
import { type CliServer, serve } from '../cli-process.ts'
import { ProgramProcess } from '../program-process.ts'

const CHILD = join(import.meta.dirname, 'child.mjs')
const ROOT = join(import.meta.dirname, '..', '..', '..', '..')

/** So that it is killed in the middle of one. */
const HOLDS_3 = { HOLDS: '3' }

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-processes-'))
  file = join(folder, 'jobs.db')
})
afterEach(async () => {
  // Those of a test that failed in the middle.
  for (const process of started.splice(0)) await killed(process)
  rmSync(folder, { recursive: true })
})

const started: ProgramProcess[] = []

function child(
  target: string,
  concurrency: number,
  ms: number,
  options: object = {},
  env: Readonly<Record<string, string>> = {},
): ProgramProcess {
  const args = [CHILD, target, String(concurrency), String(ms), JSON.stringify(options)]
  const program = new ProgramProcess([process.execPath, ...args], { cwd: ROOT, env })
  started.push(program)
  return program
}

async function served(...args: string[]): Promise<CliServer> {
  const server = await serve(folder, ...args)
  started.push(server.process)
  return server
}

function addSteps(queue: Queue, count: number): Promise<Job<unknown, number>[]> {
  const numbers = Array.from({ length: count }, (_each, n) => n)
  // A killed process counts for its jobs with their backoff.
  const options = { backoff: { base: 10, factor: 1 } }
  return queue.addMany(numbers.map((n) => ({ name: 'step', data: { n }, options })))
}

async function killed(process: ProgramProcess): Promise<void> {
  process.kill('SIGKILL')
  await process.ended
}

it('QUEUE-13: a process that is killed in the middle of its handlers loses nothing', async () => {
  const before = await openQueue(file)
  const ids = (await addSteps(before, 60)).map(({ id }) => id)
  await before.close()
  for (let kill = 0; kill < 2; kill++) {
    const process = child(file, 4, 20, {}, HOLDS_3)
    await process.says(/begin 3\n/)
    process.kill('SIGKILL')
    const { out } = await process.ended
    expect(out).not.toContain('end 3\n')
  }
  const after = await openQueue(file)
  after.work('step', ({ n }) => n * n, { concurrency: 10 })
  const results = await Promise.all(ids.map(async (id) => (await after.get(id))?.result()))
  expect(results).toEqual(ids.map((_each, n) => n * n))
  expect(await after.counts()).toMatchObject({ COMPLETED: 60, QUEUED: 0, RUNNING: 0 })
  await after.close()
})

it('QUEUE-13: a server and its workers are killed, and every job is done', async () => {
  const settings = ['--set', 'queue.worker_lost_ms=500']
  const first = await served(...settings)
  const { port } = new URL(first.url)
  const queue = await openQueue(first.url)
  const jobs = await addSteps(queue, 60)
  const a = child(first.url, 4, 30, {}, HOLDS_3)
  await a.says(/begin 3\n/)
  first.process.kill('SIGKILL')
  await first.process.ended
  const second = await served(...settings, '--port', port)
  const b = child(second.url, 4, 30)
  await b.says(/ready/)
  await killed(a)
  const results = await Promise.all(jobs.map((job) => job.result()))
  expect(results).toEqual(jobs.map((_each, n) => n * n))
  b.kill('SIGTERM')
  await Promise.all([b.ended, queue.close()])
  await second.stop()
})

it('QUEUE-9: closeOnSignals lets handlers end, gives back the rest, and ends by the signal', async () => {
  const before = await openQueue(file)
  const [job] = await addSteps(before, 1)
  await before.close()
  const patient = child(file, 1, 300, { closeOnSignals: true })
  await patient.says(/begin 0/)
  patient.kill('SIGTERM')
  expect(await patient.ended).toMatchObject({ code: null, out: 'ready\nbegin 0\nend 0\n' })

  const between = await openQueue(file)
  expect((await between.get(job?.id ?? ''))?.status).toBe('COMPLETED')
  const long = await between.add('step', { n: 1 }, { attempts: 1 })
  await between.close()
  const hasty = child(file, 1, 60_000, { closeOnSignals: { deadline: 0 } })
  await hasty.says(/begin 1/)
  hasty.kill('SIGTERM')
  expect(await hasty.ended).toMatchObject({ code: null, out: 'ready\nbegin 1\nabort 1\n' })
  const after = await openQueue(file)
  expect((await after.get(long.id))?.status).toBe('QUEUED')
  await after.close()
})

it('QUEUE-1: a file that another process has open is refused, and the error says how to share it', async () => {
  const owner = child(file, 1, 1)
  await owner.says(/ready/)
  const opening = openQueue(file)
  await expect(opening).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringMatching(
      /process \d+ .*run "fairlead serve --store .*jobs\.db" and open its URL/,
    ),
  })
  await killed(owner)
  await (await openQueue(file)).close()
})

it('QUEUE-1: the package can be required', async () => {
  const program = `
    const { openQueue } = require('fairlead')
    const { openTestQueue } = require('fairlead/test')
    openQueue(${JSON.stringify(file)}).then(async (queue) => {
      queue.work('double', ({ n }) => 2 * n)
      console.log(await (await queue.add('double', { n: 21 })).result(), typeof openTestQueue)
      await queue.close()
    })`
  const process_ = new ProgramProcess([process.execPath, '-e', program], { cwd: ROOT, input: '' })
  expect(await process_.ended).toEqual({ code: 0, out: '42 function\n', err: '' })
})

it.each(['redis://localhost', 'mysql://localhost/db', ''])(
  'QUEUE-1: "%s" is no place for a queue, and the error says so',
  async (target) => {
    await expect(openQueue(target)).rejects.toMatchObject({
      code: 'InvalidParams',
      message: expect.stringMatching(/^target: expected a file, :memory:, /),
    })
  },
)

it('QUEUE-10: a listener does not hold up a call to a server that is away', async () => {
  const place = await served()
  const queue = await openQueue(place.url, { onError: () => {} })
  await queue.add('step', { n: 1 })
  await place.stop()
  queue.on('completed', () => {})
  const adding = queue.add('step', { n: 2 }, { key: 'once' })
  const again = await served('--port', new URL(place.url).port)
  await adding
  expect(await queue.counts()).toMatchObject({ QUEUED: 2 })
  await queue.close()
  await again.stop()
})
