import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-schedules-'))
  server = await serve(folder)
})
afterEach(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead(['schedules', ...args, '--url', server.url])

it('SCHEDULE-9: schedules are put, shown, listed, triggered and deleted', async () => {
  const put = await run('put', 'report', '0 2 * * *', 'task', 'report', '{"n": 1}')
  expect(put).toMatchObject({ code: 0, err: '' })
  expect(put.out).toMatch(/^report\ncron +0 2 \* \* \*\ntime zone +UTC\njob +task report\nnext /)
  await run('put', 'hourly', '@hourly', 'ai', 'llama', 'Hello', '--paused', '--overlap', 'skip')
  const { out } = await run('list')
  expect(out).toMatch(/hourly +@hourly +UTC +ai llama +paused\n/)
  expect(out).toMatch(/report +0 2 \* \* \* +UTC +task report +\d{4}-\d\d-\d\dT02:00:00.000Z/)
  const triggered = await run('trigger', 'hourly')
  expect(triggered.out).toMatch(/^0x[0-9a-f]{64}\n$/)
  expect((await run('get', 'hourly')).out).toContain(`last job   ${triggered.out.trim()}`)
  const listed = ['jobs', 'list', '--schedule', 'hourly', '--json', '--url', server.url]
  expect(JSON.parse((await fairlead(listed)).out)).toMatchObject([
    { task_id: triggered.out.trim() },
  ])
  const cancelled = ['jobs', 'cancel', '--schedule', 'report', '--url', server.url]
  expect((await fairlead(cancelled)).out).toBe('0 cancelled, 0 left as they were.\n')
  expect(await run('delete', 'report')).toMatchObject({ code: 0, out: 'report is deleted.\n' })
  expect(await run('delete', 'report')).toMatchObject({ code: 3 })
  expect((await run('put', 'x', '0 25 * * *', 'task', 'a')).code).toBe(2)
})

it('SCHEDULE-3: shows the next times of an expression', async () => {
  const from = ['--timezone', 'Europe/Berlin', '--from', '2026-03-28T00:00:00Z', '--count', '2']
  const next = await fairlead(['schedules', 'next', '30 2 * * *', ...from])
  expect(next.out).toBe('2026-03-28T01:30:00.000Z\n2026-03-29T01:00:00.000Z\n')
})
