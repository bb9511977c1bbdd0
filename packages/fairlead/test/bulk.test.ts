import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-bulk-'))
  server = await serve(folder)
})
afterEach(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

it('BULK-2, BULK-6: jobs are counted, cancelled and retried by a filter', async () => {
  await run('enqueue', 'task', 'resize', '--count', '300')
  await run('enqueue', 'task', 'render')
  const filter = ['--status', 'QUEUED', '--name', 'resize']
  const counted = await run('jobs', 'cancel', ...filter, '--dry-run')
  expect(counted.out).toMatch(/QUEUED +300 +300\n/)
  const cancelled = await run('jobs', 'cancel', ...filter)
  expect(cancelled).toMatchObject({ code: 0, out: '300 cancelled, 0 left as they were.\n' })
  expect(cancelled.err).toContain('250 so far')
  const retried = await run('jobs', 'retry', '--status', 'CANCELED', '--limit', '5', '--json')
  expect(JSON.parse(retried.out)).toMatchObject({ done: 5, skipped: 0 })
  const { out } = await run('jobs', 'list', '--status', 'QUEUED', '--json')
  expect(JSON.parse(out)).toHaveLength(6)
})

it('says what is wrong', async () => {
  for (const [args, text] of [
    [['cancel'], /expected a task_id, or a filter/],
    [['retry', '0x12345678', '--status', 'FAILED'], /either a task_id or a filter/],
    [['cancel', '--status', 'DONE'], /--status: expected one of/],
  ] as const) {
    const ended = await run('jobs', ...args)
    expect(ended.err).toMatch(text)
    expect(ended.code).toBe(2)
  }
})
