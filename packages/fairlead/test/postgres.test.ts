import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@fairlead/client'
import { type Postgres, startPostgres } from '@fairlead/testkit/postgres'
import { openQueue } from 'fairlead'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkDurability, checkSkew, checkStandbys } from '../dist/doctor/check-postgres.js'
import { fairlead, serve } from './cli-process.ts'

let folder: string
let server: Postgres
let url: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-postgres-'))
  server = await startPostgres(join(folder, 'data'))
  url = (await server.createDatabase()).url
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

it('PG-1, PG-5, PG-6: a server on PostgreSQL works, is examined, and shows its password nowhere', async () => {
  const env = { FAIRLEAD_STORE_PATH: url }
  const run = (...args: string[]) => fairlead(args, { cwd: folder, env })
  const before = await run('doctor')
  expect(before.out).toMatch(/the first start makes the store in its schema fairlead/)
  const serving = await serve(folder, '--store', url)
  const client = connect(serving.url)
  const request = { kind: 'task', payload: { name: 'resize', args: {} } } as const
  const { task_id: id } = await client.enqueue(request)
  const after = await run('doctor')
  expect(after.out).toMatch(/live jobs in it: 1/)
  expect(after.out).toMatch(/PostgreSQL \d+/)
  expect(after.out).toMatch(/synchronous_commit on: what was answered survives/)
  // The look did not take the lead.
  expect((await client.getJob(id)).status).toBe('QUEUED')
  await client.enqueue(request)
  await client.close()
  const backup = await run('backup', 'copy.db')
  expect(backup.err).toMatch(/pg_dump --schema=fairlead/)
  expect(backup.code).not.toBe(0)
  const ended = await serving.stop()
  const texts = [before, after, backup, ended].flatMap(({ out, err }) => [out, err])
  expect(texts.join('\n')).toContain('postgres://postgres@127.0.0.1')
  expect(texts.join('\n')).not.toContain('private')
})

it('PG-1: a queue on PostgreSQL keeps its jobs, and a second process takes over', async () => {
  const first = await openQueue(url)
  await first.add('greet', { to: 'Ann' })
  const second = await openQueue(url)
  await expect(first.add('greet', { to: 'Bob' })).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringContaining('another node leads'),
  })
  const greeted = new Promise((resolve) => second.work('greet', resolve))
  expect(await greeted).toEqual({ to: 'Ann' })
  await second.close()
  await first.close().catch(() => {})
})

const FACTS = {
  version: '18.4',
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: 'on',
  synchronousStandbyNames: '',
  standbys: 0,
  synchronousStandbys: 0,
  isStandby: false,
  dataChecksums: true,
  nowMs: 1_000_000,
  askedMs: 5,
}

it('PG-5: says what the settings of a server allow to be lost', () => {
  expect(checkDurability(FACTS).status).toBe('ok')
  expect(checkDurability({ ...FACTS, synchronousCommit: 'off' }).status).toBe('warn')
  expect(checkDurability({ ...FACTS, fsync: false }).status).toBe('fail')
  expect(checkStandbys(FACTS).status).toBe('ok')
  expect(checkStandbys({ ...FACTS, standbys: 1 })).toMatchObject({
    status: 'warn',
    text: expect.stringContaining('A failover loses what was answered'),
  })
  const named = { ...FACTS, synchronousStandbyNames: 'b' }
  expect(checkStandbys({ ...named, standbys: 1, synchronousStandbys: 1 }).status).toBe('ok')
  expect(checkStandbys(named).text).toContain('no commit is answered')
  expect(checkSkew(FACTS, 1_001_005).status).toBe('ok')
  expect(checkSkew(FACTS, 1_001_006).status).toBe('warn')
})
