import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@fairlead/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CliProcess, fairlead, serve } from './cli-process.ts'
import { HOSTILE, HostileServer } from './hostile-server.ts'
import type { Ended } from './program-process.ts'

const ACTED_ON = /(?!\n)[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const ID = `0x${'ab'.repeat(32)}`
const OPENS_AT = '2050-01-01T00:00:00Z'

let folder: string
let server: HostileServer
const running: CliProcess[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-terminal-'))
  server = await HostileServer.open()
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGKILL')
    await one.ended
  }
  server.close()
  rmSync(folder, { recursive: true })
})

function expectHarmless({ out, err }: Pick<Ended, 'out' | 'err'>): void {
  for (const text of [out, err]) {
    expect(text).not.toMatch(ACTED_ON)
    expect(text).not.toMatch(/^FORGED/m)
  }
}

/** Every command that shows what a server says. */
const COMMANDS: readonly (readonly string[])[] = [
  ['jobs', 'list'],
  ['jobs', 'show', ID],
  ['jobs', 'cancel', ID],
  ['jobs', 'retry', ID],
  ['explain', ID],
  ['enqueue', 'task', 'n'],
  ['providers', 'list'],
  ['providers', 'show', 'provider:p'],
  ['providers', 'set-status', 'provider:p', 'ACTIVE'],
  ['limits', 'list'],
  ['limits', 'show', 'k'],
  ['registrations', 'list'],
  ['registrations', 'show', ID],
  ['registrations', 'cancel', ID],
  ['registrations', 'schedule', 'p', 'o', 'e', 'u', '--opens', OPENS_AT],
  ['sessions', 'list'],
  ['sessions', 'show', 'p', 'o', 'e'],
  ['sessions', 'set-opening', 'p', 'o', 'e', OPENS_AT],
  ['policy', 'show'],
  ['audit', 'list'],
  ['audit', 'prune', '--before', '30d'],
  ['audit', 'export'],
  ['top', '--once'],
]

describe('text of others on a terminal', () => {
  it.each(COMMANDS.map((args) => [args.join(' '), args] as const))(
    'TERMINAL-1: %s shows it escaped, and its refusal',
    async (_, args) => {
      const options = { cwd: folder, env: { FAIRLEAD_URL: server.url } }
      const shown = await fairlead(args, options)
      expectHarmless(shown)
      expect(shown.code).toBe(0)
      // The same as JSON is exact: what is escaped is read as it was.
      const json = await fairlead([...args, ...(args[1] === 'export' ? [] : ['--json'])], options)
      expectHarmless(json)
      if (args[1] !== 'export') expect(() => JSON.parse(json.out)).not.toThrow()
      server.isRefusing = true
      const refused = await fairlead(args, options)
      expectHarmless(refused)
      expect(refused.err).toContain('FORGED')
    },
  )

  it('TERMINAL-1: JSON is read as it was', async () => {
    const listed = await fairlead(['jobs', 'list', '--json', '--url', server.url], { cwd: folder })
    const [job] = JSON.parse(listed.out) as { name: string }[]
    expect(job?.name.endsWith(HOSTILE)).toBe(true)
  })

  it('TERMINAL-1: tokens, findings and settings are shown escaped', async () => {
    const run = (...args: string[]) => fairlead(args, { cwd: folder })
    const made = await run('token', 'create', '--role', 'requester', '--subject', HOSTILE)
    expectHarmless(made)
    const listed = await run('token', 'list')
    expectHarmless(listed)
    expect(listed.out).toContain('\\x1b[31mred')
    const [id = ''] = /^[0-9a-f]{12}/m.exec(listed.out) ?? []
    expectHarmless(await run('token', 'revoke', id))
    expectHarmless(await run('policy', 'check', '--set', `queue.${HOSTILE}=1`))
    expectHarmless(await run('doctor', '--set', `queue.${HOSTILE}=1`))
    writeFileSync(join(folder, 'jobs.jsonl'), JSON.stringify({ kind: HOSTILE }))
    expectHarmless(await run('enqueue', '--from', 'jobs.jsonl', '--url', server.url))
  })

  it('TERMINAL-1: a worker, a watcher and a failed job are told escaped, and what the program says, too', async () => {
    const real = await serve(folder)
    running.push(real.process)
    const client = connect(real.url)
    const start = (...args: string[]): CliProcess => {
      const one = new CliProcess([...args, '--url', real.url], { cwd: folder })
      running.push(one)
      return one
    }
    writeFileSync(join(folder, 'said'), `${HOSTILE}\nlast words ${HOSTILE}`)
    const watcher = start('jobs', 'watch', '--after', '0')
    const worker = start('worker', '--exec', 'cat said >&2; exit 65')
    await worker.says(/Ctrl-C stops it/)
    const { task_id } = await client.enqueue({
      kind: 'task',
      payload: { name: HOSTILE, args: { text: HOSTILE } },
    })
    await watcher.says(/jobFailed/)
    await worker.says(/failed/)
    worker.kill('SIGTERM')
    watcher.kill('SIGTERM')
    for (const ended of await Promise.all([worker.ended, watcher.ended])) {
      expectHarmless(ended)
      expect(ended.out).toContain('\\x1b[31mred')
    }
    expect((await worker.ended).err).toMatch(/^0x[0-9a-f]{16} {2}last words \\x1b\[31mred/m)
    for (const args of [
      ['jobs', 'show', task_id],
      ['explain', task_id],
      ['jobs', 'list'],
    ]) {
      const shown = await fairlead([...args, '--url', real.url], { cwd: folder })
      expectHarmless(shown)
      // An explanation writes it out in its own way.
      expect(shown.out).toMatch(/\\(?:x1b|u\{1b\})\[31mred/)
    }
    await client.close()
  })
})
