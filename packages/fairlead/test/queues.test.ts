import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-queues-'))
  server = await serve(folder)
})
afterEach(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

it('PAUSE-4: queues are paused, listed and resumed', async () => {
  const paused = await run('queues', 'pause', 'task', '--name', 'resize', '--caller', 'bob')
  expect(paused).toMatchObject({ code: 0, err: '' })
  expect(paused.out).toMatch(/^task resize of caller 0x[0-9a-f]{64} is paused\.\n$/)
  await run('queues', 'pause', 'task')
  await run('enqueue', 'task', 'render', '{}')
  const { out } = await run('queues', 'list')
  expect(out).toMatch(/task +render +1 +1\n/)
  expect(out).toMatch(/^task is paused for \d+ m?s\.$/m)
  expect(out).toMatch(/^task resize of caller 0x[0-9a-f]+ is paused for \d+ m?s\.$/m)
  expect(await run('queues', 'resume', 'task')).toMatchObject({ code: 0, out: 'task goes on.\n' })
  expect(await run('queues', 'resume', 'task')).toMatchObject({
    code: 3,
    out: 'task was not paused.\n',
  })
  const wrong = await run('queues', 'pause', 'registration')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toMatch(/<kind>: expected one of ai, quantum, task/)
})
