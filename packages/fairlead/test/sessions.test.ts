import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient } from '@fairlead/client'
import { dateText } from '@fairlead/signup/records'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

const SWIM = { provider: 'bookeo', org_ref: 'org-1', event_id: 'swim' }
const KEY = ['bookeo', 'org-1', 'swim']

let folder: string
let server: CliServer
let client: NodeClient
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-sessions-'))
  server = await serve(folder)
  client = connect(server.url)
})
afterEach(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

describe('fairlead sessions', () => {
  it('lists and shows them, with who waits in which order', async () => {
    expect((await run('sessions', 'list')).out).toContain('There are none.')
    const opens_at = Date.now() + 3_600_000
    const first = await client.schedule({ ...SWIM, user_id: 'u1', opens_at })
    const second = await client.schedule({ ...SWIM, user_id: 'u2', opens_at })
    const list = await run('sessions', 'list')
    expect(list).toMatchObject({ code: 0, err: '' })
    expect(list.out).toMatch(/bookeo +org-1 +swim +opens in \S.* 2 +0 +0 +0 +0/)
    const none = await run('sessions', 'list', '--provider', 'campminder', '--json')
    expect(JSON.parse(none.out)).toEqual([])
    const { out } = await run('sessions', 'show', ...KEY)
    expect(out).toMatch(/2 wait, 0 under way/)
    expect(out.indexOf(first.reference)).toBeGreaterThan(0)
    expect(out.indexOf(second.reference)).toBeGreaterThan(out.indexOf(first.reference))
    const shown = await run('sessions', 'show', ...KEY, '--limit', '1', '--json')
    expect(JSON.parse(shown.out)).toMatchObject({ session: SWIM, queue: [{ place: 1 }] })
    expect((await run('sessions', 'show', 'bookeo', 'org-1', 'odd')).code).not.toBe(0)
  })

  it('schedules, lists, shows and cancels registrations', async () => {
    const schedule = (...args: string[]) => run('registrations', 'schedule', ...KEY, ...args)
    const opens = new Date(Date.now() + 3_600_000).toISOString()
    const asked = await schedule('u1', '--opens', opens, '--program', 'Swimming')
    expect(asked).toMatchObject({ code: 0, err: '' })
    expect(asked.out).toContain(
      `You’re queued for Swimming at ${dateText(Date.parse(opens), 'UTC')}.`,
    )
    const [reference = ''] = /SCH-\w{6}/.exec(asked.out) ?? []
    // The opening of a session that is known need not be said again; what is personal is read.
    const more = ['u2', '--args', '-', '--json', '--url', server.url]
    const second = await fairlead(['registrations', 'schedule', ...KEY, ...more], {
      input: '{"child":"Kim"}',
    })
    expect(JSON.parse(second.out)).toMatchObject({ place: 2, opens_at: Date.parse(opens) })
    const twice = await schedule('u1')
    expect([twice.code, twice.err]).toEqual([3, expect.stringContaining(reference)])
    expect((await schedule('u3', '--opens', '2027-03-01T09:00:00')).err).toContain('with its zone')

    const canceled = await run('registrations', 'cancel', reference.toLowerCase())
    expect(canceled).toMatchObject({ code: 0, out: `${reference} is CANCELED.\n` })
    expect((await run('registrations', 'cancel', reference)).code).toBe(3)
    const list = await run('registrations', 'list', '--event', 'swim')
    expect(list.out).toMatch(new RegExp(`${reference} +bookeo +org-1 +swim +canceled`))
    expect(list.out).toMatch(/pending\n$/)
    const shown = await run('registrations', 'show', reference)
    expect(shown.out).toMatch(/was canceled\..*What happened.*jobEnqueued.*jobCanceled/s)
    const { task_id } = JSON.parse((await run('registrations', 'show', reference, '--json')).out)
      .registration as { task_id: string }
    expect((await run('jobs', 'retry', task_id)).err).toContain('registrations schedule')
  })

  it('says when one opens', async () => {
    const set = await run('sessions', 'set-opening', ...KEY, '2027-03-01T09:00:00+01:00')
    expect(set.out).toBe('swim of org-1 at bookeo opens at 2027-03-01T08:00:00.000Z.\n')
    const { session } = await client.getSession(SWIM)
    expect(session.opens_at).toBe(Date.parse('2027-03-01T08:00:00Z'))
  })

  it('watches one until nobody is left in it', async () => {
    const opens_at = Date.now() - 1_000
    await client.call('signup.setOpening', { ...SWIM, opens_at })
    const { reference } = await client.schedule({ ...SWIM, user_id: 'u1', opens_at })
    await client.cancelRegistration(reference)
    const watched = await run('sessions', 'watch', ...KEY)
    expect(watched.code).toBe(0)
    expect(watched.out).toMatch(/^open for .*; 0 wait, 0 under way, 0 done, 0 failed, 1 canceled;/)
  })

  it('RECEIPT-2: references are the same after a kill', async () => {
    const opens_at = Date.now() + 3_600_000
    const told = []
    for (const user_id of ['u1', 'u2', 'u3']) {
      told.push((await client.schedule({ ...SWIM, user_id, opens_at })).reference)
    }
    await client.cancelRegistration(told[1] as string)
    server.process.kill('SIGKILL')
    await server.process.ended
    await client.close()
    server = await serve(folder)
    client = connect(server.url)
    const found = []
    for await (const one of client.listRegistrations({ limit: 2 })) found.push(one)
    expect(found.map(({ reference }) => reference)).toEqual(told)
    expect(found.map(({ result }) => result)).toEqual(['pending', 'canceled', 'pending'])
    const { registration } = await client.auditRegistration(told[2] as string)
    expect(registration.user_id).toBe('u3')
  })
})
