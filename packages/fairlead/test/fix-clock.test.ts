import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@fairlead/client'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

const YEAR_MS = 365 * 86_400_000

let folder: string
let server: CliServer | null = null

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-clock-'))
})

afterEach(async () => {
  await server?.stop()
  server = null
  rmSync(folder, { recursive: true })
})

it('CLOCK-1: doctor --fix-clock helps a store that no server opens, and its jobs run then', async () => {
  const store = openSqliteStore(join(folder, 'fairlead.db'))
  const clock = new TestClock(Date.now() + YEAR_MS)
  const engine = await openEngine({ store, clock })
  const request = { kind: 'task', payload: { name: 'resize', args: {} } }
  const taskId = await engine.enqueue(request, { caller: callerOf('local') })
  await engine.close()
  const run = (...args: string[]) => fairlead(args, { cwd: folder })
  const refused = await run('serve', '--port', '0')
  expect(refused.code).not.toBe(0)
  expect(refused.err).toMatch(/in the future.*doctor --fix-clock/)

  const fixed = await run('doctor', '--fix-clock', '--json')
  expect(fixed.code).toBe(0)
  const { fixed_clock } = JSON.parse(fixed.out) as {
    fixed_clock: { before: number; after: number }
  }
  expect(fixed_clock.before - fixed_clock.after).toBeGreaterThan(YEAR_MS - 600_000)
  expect((await run('doctor', '--fix-clock')).out).toMatch(/not ahead of the clock/)

  server = await serve(folder)
  // While a server has the store open, nothing is changed.
  expect((await run('doctor', '--fix-clock')).err).toMatch(/has it open/)
  const client = connect(server.url)
  const worker = client.worker({
    ...{ providerId: 'provider:p', kinds: ['task'], models: ['*'], concurrency: 1, drainMs: null },
    handler: () => 'done',
  })
  expect((await client.waitForResult(taskId)).text).toBe('done')
  await worker.stop()
  await client.close()
  expect((await run('audit', 'list', '--url', server.url)).out).toContain('clockFixed')
  expect((await run('audit', 'verify', '--url', server.url)).code).toBe(0)
})
