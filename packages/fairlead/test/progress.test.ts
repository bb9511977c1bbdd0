import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@fairlead/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-progress-'))
  server = await serve(folder)
})
afterEach(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

it('PROGRESS-3, PROGRESS-4: progress and lines are shown, and the lines outlive a restart', async () => {
  const client = connect(server.url)
  let finish = (): void => {}
  const gate = new Promise<void>((resolve) => {
    finish = resolve
  })
  const heard = new Promise<void>((resolve) => {
    void client.onProgress(() => resolve())
  })
  const worker = client.worker({
    providerId: 'provider:atlas',
    kinds: ['task'],
    concurrency: 1,
    drainMs: null,
    handler: async (job) => {
      job.log('fetching')
      job.progress(40, 'page 4')
      await gate
      job.log('done')
      return 'x'
    },
  })
  await client.ready()
  const { task_id } = await client.enqueue({ kind: 'task', payload: { name: 'a', args: {} } })
  await heard
  expect((await run('jobs', 'show', task_id)).out).toMatch(/progress +40 %, page 4\n/)
  finish()
  await client.waitForResult(task_id)
  await worker.stop()
  await client.close()
  await server.stop()
  server = await serve(folder)
  const { out } = await run('jobs', 'logs', task_id)
  expect(out).toMatch(/^0 \d{4}-\S+Z fetching\n0 \S+ done\nattempt 0 came to 40 %, page 4\n$/)
  expect((await run('jobs', 'logs', task_id, '--attempt', '1')).out).toBe('There are none.\n')
})
