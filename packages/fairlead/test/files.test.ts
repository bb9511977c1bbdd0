import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'

const OPENS_AT = '2050-01-01T00:00:00Z'

let folder: string
let server: CliServer | null = null

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-files-'))
})

afterEach(async () => {
  await server?.stop()
  server = null
  rmSync(folder, { recursive: true })
})

async function started(...args: string[]): Promise<CliServer> {
  server = await serve(folder, ...args)
  return server
}

async function stopped(): Promise<void> {
  await server?.stop()
  server = null
}

function run(...args: string[]) {
  return fairlead(args, { cwd: folder, env: { FAIRLEAD_URL: server?.url ?? 'http://127.0.0.1:9' } })
}

function schedule(user: string) {
  return run('registrations', 'schedule', 'swim', 'north', 'course', user, '--opens', OPENS_AT)
}

function listing(): string[] {
  return readdirSync(folder).sort()
}

describe('files of an installation', () => {
  it('FILES-1: what commands make can be read by its owner only, whatever the umask is', async () => {
    const cli = { cwd: folder, umask: '0' }
    const process = new CliProcess(['serve', '--port', '0', '--log-level', 'silent'], cli)
    try {
      const [, url = ''] = await process.says(/serves (http:\S+) on/)
      const to = ['--url', url]
      const enqueued = await fairlead(['enqueue', 'task', 'n', ...to], cli)
      expect(enqueued).toMatchObject({ code: 0 })
      const exported = await fairlead(['audit', 'export', '--out', 'audit.jsonl', ...to], cli)
      expect(exported).toMatchObject({ code: 0 })
      await fairlead(['token', 'create', '--role', 'admin', '--subject', 'olga'], cli)
      const made = listing()
      expect(made).toEqual(
        expect.arrayContaining(['audit.jsonl', 'fairlead.db', 'fairlead.db.key']),
      )
      for (const name of made) {
        expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600])
      }
    } finally {
      process.kill('SIGTERM')
      await process.ended
    }
  })

  it('FILES-1: doctor names a file of the store that everybody can read', async () => {
    const logs = join(folder, 'fairlead.db.job-logs')
    writeFileSync(logs, '')
    chmodSync(logs, 0o644)
    const found = (await run('doctor', '--set', 'server.port=0')).out
    expect(found).toMatch(/permissions.*can read \S*fairlead\.db\.job-logs\./)
    chmodSync(logs, 0o600)
    expect((await run('doctor', '--set', 'server.port=0')).out).not.toMatch(/can read \S*job-logs/)
  })

  describe('FILES-2: a start that is refused makes nothing', () => {
    it.each([
      ['a wrong setting', ['--set', 'queue.max_depth=many'], 2],
      ['settings that do not fit together', ['--set', 'server.connections_max=0'], 2],
      ['an address for others without tokens', ['--host', '0.0.0.0'], 2],
      ['an address that this machine does not have', ['--host', '203.0.113.1'], 2],
      ['a file of booking sites that is not there', ['--set', 'signup.providers=none.yaml'], 2],
    ])('FILES-2: for %s', async (_, args, code) => {
      const refused = await run('serve', '--port', '0', ...args)
      expect({ code: refused.code, files: listing() }).toEqual({ code, files: [] })
    })

    it('FILES-2: for a port that is in use', async () => {
      const other = createServer()
      await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
      try {
        const { port } = other.address() as AddressInfo
        const refused = await run('serve', '--port', String(port))
        expect(refused.err).toMatch(/another process does/)
        expect(listing()).toEqual([])
      } finally {
        other.close()
      }
    })

    it('FILES-2: for a store that another has, and for tokens that cannot be read', async () => {
      await started()
      // The server that runs may make its logs meanwhile.
      const settled = () => listing().filter((name) => !/-(?:wal|shm|log-\d+)$/.test(name))
      const before = settled()
      expect((await run('serve', '--port', '0')).err).toMatch(/has it open/)
      expect(settled()).toEqual(before)
      writeFileSync(join(folder, 'bad.json'), '{')
      const bad = await run(
        'serve',
        '--port',
        '0',
        '--store',
        'b.db',
        '--set',
        'tokens.path=bad.json',
      )
      expect(bad.code).not.toBe(0)
      expect(settled()).toEqual(['bad.json', ...before])
    })
  })

  it('FILES-3, FILES-4: a lost key is told with what it opens, and replaced only when that is asked for', async () => {
    await started()
    expect((await schedule('user-1')).code).toBe(0)
    expect((await schedule('user-2')).code).toBe(0)
    await stopped()
    const key = join(folder, 'fairlead.db.key')
    const lost = readFileSync(key)
    rmSync(key)
    const before = listing()
    const refused = await run('serve', '--port', '0')
    expect(refused.err).toMatch(
      /fairlead\.db\.key is missing.*2 registrations and 0 results.*--new-key/,
    )
    expect(refused.code).not.toBe(0)
    expect(listing()).toEqual(before)
    expect((await run('doctor')).out).toMatch(/FAIL +key .*2 registrations/)

    await started('--new-key')
    expect((await schedule('user-3')).code).toBe(0)
    // Those that cannot be read are shown as such, beside the one that can.
    const listed = await run('registrations', 'list')
    expect([listed.code, listed.out.match(/unreadable/g)?.length]).toEqual([0, 2])
    const jobs = JSON.parse((await run('jobs', 'list', '--json')).out) as { task_id: string }[]
    expect(jobs).toHaveLength(3)
    for (const { task_id } of jobs) expect((await run('jobs', 'show', task_id)).code).toBe(0)
    await stopped()
    // The file that was lost comes back behind the new one: all can be read again.
    writeFileSync(key, Buffer.concat([readFileSync(key), lost]))
    await started()
    expect((await run('registrations', 'list')).out).not.toMatch(/unreadable/)
  })

  it('FILES-3: a store without encrypted data gets a key where none is', async () => {
    await started()
    await stopped()
    rmSync(join(folder, 'fairlead.db.key'))
    await started()
    expect(listing()).toContain('fairlead.db.key')
  })
})
