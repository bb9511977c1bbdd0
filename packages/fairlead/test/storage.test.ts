import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { connect } from '@fairlead/client'
import { encodeBatch, openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer | null = null

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-storage-'))
})

afterEach(async () => {
  await server?.stop()
  server = null
  rmSync(folder, { recursive: true })
})

function run(...args: string[]) {
  return fairlead(args, { cwd: folder, env: { FAIRLEAD_URL: server?.url ?? 'http://127.0.0.1:9' } })
}

async function killed(): Promise<void> {
  server?.process.kill('SIGKILL')
  await server?.process.ended
  server = null
}

async function stopped(): Promise<void> {
  await server?.stop()
  server = null
}

async function enqueued(count: number): Promise<string[]> {
  const client = connect(server?.url ?? '')
  const request = { kind: 'task', payload: { name: 'resize', args: {} } } as const
  const jobs = await Promise.all(Array.from({ length: count }, () => client.enqueue(request)))
  const ids = jobs.map(({ task_id: id }) => id)
  await client.close()
  return ids
}

/** The leases of all jobs, once a worker has done them. */
async function worked(ids: readonly string[]): Promise<Map<string, string>> {
  const client = connect(server?.url ?? '')
  const leases = new Map<string, string>()
  const worker = client.worker({
    ...{ providerId: 'provider:p', kinds: ['task'], models: ['*'], concurrency: 4, drainMs: null },
    handler: ({ jobId, leaseId }) => {
      leases.set(jobId, leaseId)
      return 'done'
    },
  })
  for (const id of ids) expect((await client.waitForResult(id)).text).toBe('done')
  await worker.stop()
  await client.close()
  return leases
}

async function listed(): Promise<string[]> {
  const { out } = await run('jobs', 'list', '--json', '--limit', '1000')
  return (JSON.parse(out) as { task_id: string }[]).map(({ task_id }) => task_id)
}

const at = (...names: string[]) => join(folder, ...names)

describe('a backup', () => {
  it('BACKUP-1, BACKUP-4, BACKUP-5: of a server under load has all jobs that were answered, and goes on under other leases', async () => {
    server = await serve(folder)
    const before = await enqueued(40)
    let isDone = false
    const load = (async () => {
      while (!isDone) await enqueued(10)
    })()
    const made = await run('backup', 'backup.db', '--json')
    isDone = true
    await load
    expect(made).toMatchObject({ code: 0 })
    expect(JSON.parse(made.out)).toMatchObject({
      ...{ path: at('backup.db'), made_by: 'server', key_file: at('fairlead.db.key') },
    })
    expect((await run('audit', 'list', '--limit', '1000')).out).toContain('backupMade')
    const leases = await worked(before)
    await killed()

    expect((await run('log', 'verify', '--store', 'backup.db')).out).toMatch(
      /Tables: as after batch \d+, closed in order\.\nNo log is beside it/,
    )
    mkdirSync(at('other'))
    const restored = await run('restore', 'backup.db', '--store', 'other/fairlead.db')
    expect(restored).toMatchObject({ code: 0, err: '' })
    expect(restored.out).toContain('other/fairlead.db.key is not there')
    copyFileSync(at('fairlead.db.key'), at('other', 'fairlead.db.key'))
    server = await serve(at('other'))
    expect(await listed()).toEqual(expect.arrayContaining(before))
    const again = await worked(before)
    for (const id of before) expect(again.get(id)).not.toBe(leases.get(id))
    expect((await run('audit', 'list', '--limit', '1000')).out).toContain('storeRestored')
    expect((await run('audit', 'verify')).code).toBe(0)
  })

  it('BACKUP-2: of a stopped store has what only its log had', async () => {
    server = await serve(folder)
    const ids = await enqueued(5)
    await killed()
    const made = await run('backup', 'backup.db')
    expect(made).toMatchObject({ code: 0, err: '' })
    expect(made.out).toContain('fairlead.db.key is not in it and belongs to it')
    const again = await run('backup', 'backup.db')
    expect(again.code).toBe(2)
    expect(again.err).toContain('exists already')
    const none = await run('backup', 'other.db', '--store', 'nothing.db')
    expect(none.code).toBe(3)
    expect(existsSync(at('nothing.db'))).toBe(false)
    expect(await run('restore', 'backup.db', '--store', 'copy.db')).toMatchObject({ code: 0 })
    const copy = await openSqliteStore(at('copy.db'))
    const { jobs } = await copy.tables.load()
    await copy.close()
    expect(jobs.map(({ id }) => id)).toEqual(ids)
  })

  it('BACKUP-1: of the store that --store names is made by its server', async () => {
    server = await serve(folder)
    const made = await run('backup', 'backup.db', '--store', 'fairlead.db', '--json')
    expect(JSON.parse(made.out)).toMatchObject({ made_by: 'server' })
    const { url } = server
    const lost = await fairlead(['backup', 'two.db', '--url', 'http://127.0.0.1:9'], {
      cwd: folder,
    })
    expect(lost.code).toBe(4)
    expect(lost.err).toMatch(/has it open.*name it with --url/)
    const refused = await fairlead(['backup', 'backup.db', '--url', url], { cwd: folder })
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('path: expected the path of a file that does not exist yet')
  })

  it('BACKUP-3: one that is damaged or incomplete is refused before anything changes', async () => {
    server = await serve(folder)
    await enqueued(50)
    expect((await run('backup', 'backup.db')).code).toBe(0)
    await killed()
    // Its log has what the file lacks.
    copyFileSync(at('fairlead.db'), at('copied.db'))
    const bytes = readFileSync(at('backup.db'))
    bytes.fill(0, 40_960, 40_960 + 8_192)
    writeFileSync(at('damaged.db'), bytes)
    writeFileSync(at('text.db'), 'no database, but a text that is long enough to be read as one')
    const before = readdirSync(folder)
    for (const [file, told] of [
      ['copied.db', 'it is not a backup'],
      ['damaged.db', 'the backup is damaged'],
      ['text.db', 'not a database'],
      ['missing.db', 'there is no such file'],
    ] as const) {
      const refused = await run('restore', file, '--store', 'new.db')
      expect([file, refused.err]).toEqual([file, expect.stringContaining(told)])
      expect(refused.code).not.toBe(0)
      expect((await run('log', 'verify', '--store', file)).code).not.toBe(0)
    }
    expect(readdirSync(folder)).toEqual(before)
  })

  it('BACKUP-4: moves a store that is there aside with its log, and only if it is told to', async () => {
    server = await serve(folder)
    const ids = await enqueued(3)
    expect((await run('backup', 'backup.db')).code).toBe(0)
    const more = await enqueued(3)
    const held = await run('restore', 'backup.db', '--force')
    expect(held.err).toContain('has it open')
    await killed()
    const refused = await run('restore', 'backup.db')
    expect(refused.code).toBe(3)
    expect(refused.err).toMatch(/a store is there \(fairlead\.db.*--force/)
    const forced = await run('restore', 'backup.db', '--force', '--json')
    expect(forced).toMatchObject({ code: 0 })
    const { moved_to: movedTo } = JSON.parse(forced.out) as { moved_to: string }
    expect(basename(movedTo)).toMatch(/^fairlead\.db\.before-restore-\d{8}T\d{6}Z$/)
    // It is a whole store at its new place, with its log beside it.
    const verified = await run('log', 'verify', '--store', movedTo)
    expect(verified).toMatchObject({ code: 0 })
    server = await serve(folder)
    expect((await listed()).sort()).toEqual([...ids].sort())
    await stopped()
    const old = await openSqliteStore(movedTo)
    const engine = await openEngine({ store: old })
    const { jobs } = await engine.listJobs()
    await engine.close()
    expect(jobs.map(({ id }) => id)).toEqual([...ids, ...more])
  })

  it('BACKUP-5: no log of the store before fits the restored one', async () => {
    server = await serve(folder)
    await enqueued(3)
    expect((await run('backup', 'backup.db')).code).toBe(0)
    await killed()
    const forced = await run('restore', 'backup.db', '--force', '--json')
    const { moved_to: movedTo } = JSON.parse(forced.out) as { moved_to: string }
    for (const name of readdirSync(folder)) {
      const log = /-log-\d+$/.exec(name)
      if (log !== null) copyFileSync(at(name), at(`fairlead.db${log[0]}`))
    }
    expect(existsSync(`${movedTo}-log-1`)).toBe(true)
    const refused = await run('serve', '--port', '0')
    expect(refused.err).toContain('belongs to another store')
  })
})

describe('fairlead log verify', () => {
  it('VERIFY-1: replays what the tables lack, and names the first damaged place', async () => {
    server = await serve(folder)
    await enqueued(20)
    await killed()
    const fine = await run('log', 'verify', '--json')
    expect(fine.code).toBe(0)
    const found = JSON.parse(fine.out)
    expect(found).toMatchObject({ ok: true, problem: null, tables: { was_clean: false } })
    expect(found.replayed.commands).toBeGreaterThanOrEqual(20)
    expect(found.log.last.batch - found.tables.batch).toBe(found.replayed.batches)
    expect((await run('log', 'verify')).out).toMatch(/every digest is that of the log/)
    const doctor = await run('doctor', '--set', 'server.port=0')
    expect(doctor.out).toMatch(
      /log +Its server did not close it in order; the next start replays batches \d+ to \d+\./,
    )

    const file = found.log.files > 0 ? at('fairlead.db-log-1') : ''
    const bytes = readFileSync(file)
    // In the body of the first record.
    const place = 8_192 + 60
    bytes[place] = (bytes[place] ?? 0) ^ 0xff
    writeFileSync(file, bytes)
    const wrong = await run('log', 'verify')
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(
      /Wrong: \S+fairlead\.db-log-1 at byte 8192: .*batch 1 is missing or damaged.*go back to the last backup/,
    )
    const examined = await run('doctor', '--set', 'server.port=0')
    expect(examined.out).toMatch(/FAIL +store +store .*is damaged at byte 8192/)
    expect(examined.out).toMatch(
      /→ Keep copies of the store and of all files of its log; then bring/,
    )
  })

  it('VERIFY-1, STORAGE-1: a bit that changed in a row is told with its table, by verify, doctor, audit and the start', async () => {
    server = await serve(folder)
    await enqueued(3)
    await stopped()
    const bytes = readFileSync(at('fairlead.db'))
    const before = Buffer.from(bytes)
    // Behind its kind; the schema has the word in quotes.
    const status = bytes.toString('latin1').search(/(?<!')QUEUED/)
    bytes[status] = (bytes[status] ?? 0) ^ 1
    writeFileSync(at('fairlead.db'), bytes)
    const named = /in table jobs, the row with seq \d+ does not fit its checksum/
    const wrong = await run('log', 'verify')
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(named)
    const examined = await run('doctor', '--set', 'server.port=0')
    expect(examined.code).toBe(1)
    expect(examined.out).toMatch(named)
    expect(examined.out).toMatch(/→ If somebody changed it by hand, bring back the old value/)
    await expect(serve(folder)).rejects.toThrow(named)

    // The action of an entry, which the chain covers.
    const action = before.indexOf('jobEnqueued')
    before[action] = (before[action] ?? 0) ^ 1
    writeFileSync(at('fairlead.db'), before)
    const chain = await run('log', 'verify')
    expect(chain.code).toBe(1)
    expect(chain.out).toMatch(/in table journal, entry \d+ does not fit its checksum/)
    server = await serve(folder)
    const audit = await run('audit', 'verify')
    expect(audit.code).not.toBe(0)
    expect(audit.out + audit.err).toMatch(/entry \d+ does not fit its checksum/)
  })

  it('VERIFY-2: while a server runs only the log is read, and it says how to check the rest', async () => {
    server = await serve(folder)
    await enqueued(3)
    const held = await run('log', 'verify')
    expect(held.code).toBe(4)
    expect(held.out).toMatch(/not replayed: a server has the store open[\s\S]*fairlead backup TO/)
    await stopped()
    const closed = await run('log', 'verify')
    expect(closed).toMatchObject({ code: 0 })
    expect(closed.out).toContain('there is nothing to replay')
    expect((await run('log', 'verify', '--store', 'none.db')).code).toBe(3)
  })
})

it('REPLAY-1, REPLAY-2: a start that decides otherwise is refused, and goes on after accept-replay', async () => {
  server = await serve(folder)
  const ids = await enqueued(3)
  await stopped()
  const store = await openSqliteStore(at('fairlead.db'))
  const { batch } = store.log.end
  const entry = { command: { type: 'heartbeat', providerId: 'provider:nobody' }, at: Date.now() }
  const body = encodeBatch({ entries: [entry as never], digest: 1 })
  await store.log.append({ batch: batch + 1, digest: 1, body })
  await store.close()

  const refused = await run('serve', '--port', '0')
  expect(refused.code).toBe(4)
  expect(refused.err).toContain(`batch ${batch + 1}: heartbeat`)
  expect(refused.err).toContain('fairlead log accept-replay')
  const wrong = await run('log', 'verify')
  expect([wrong.code, wrong.out]).toEqual([1, expect.stringContaining(`batch ${batch + 1}`)])
  const trial = await run('log', 'accept-replay', '--dry-run')
  expect([trial.code, trial.out]).toEqual([0, expect.stringContaining('Nothing was changed.')])
  expect(trial.out).toContain(`- batch ${batch + 1}: heartbeat`)
  expect((await run('serve', '--port', '0')).code).toBe(4)
  const accepted = await run('log', 'accept-replay')
  expect([accepted.code, accepted.err]).toEqual([0, ''])

  server = await serve(folder)
  expect((await listed()).sort()).toEqual([...ids].sort())
  expect((await run('audit', 'list', '--limit', '1000')).out).toContain('replayAccepted')
  expect((await run('audit', 'verify')).code).toBe(0)
  await stopped()
  const none = await run('log', 'accept-replay')
  expect(none.out).toContain('nothing differs')
})

it('STORAGE-1: doctor tells sizes, room, and what the next start replays', async () => {
  server = await serve(folder)
  await enqueued(3)
  const running = await run('doctor', '--set', 'server.port=0')
  expect(running.out).toMatch(
    /files +tables \S+ \S+, write-ahead log .*log 32\.0 MiB in 2 files; .* are free/,
  )
  await stopped()
  const closed = await run('doctor', '--set', 'server.port=0')
  expect(closed.out).toMatch(/log +It was closed in order; the next start replays nothing\./)
  rmSync(at('fairlead.db'))
  const lost = await run('doctor', '--set', 'server.port=0')
  expect(lost.code).toBe(1)
  expect(lost.out).toMatch(/FAIL +store .*the file is missing or empty, and its log is here/)
  expect(lost.out).toMatch(/→ Bring the file back, or a backup of it; to begin anew, move/)
})
