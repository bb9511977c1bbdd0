import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer | null
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-dashboard-'))
  server = null
})
afterEach(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

it('PAGE-2: serve says where the page is, below the path that it was given', async () => {
  server = await serve(folder, '--base-path', '/x/y')
  expect(new URL(server.url).pathname).toBe('/x/y')
  const [, page] = await server.process.says(/^Dashboard: (\S+)$/m)
  expect(page).toBe(`${server.url}/`)
  const answer = await fetch(page as string)
  expect(await answer.text()).toContain('<base href="/x/y/">')
  // Commands take the address with its path.
  expect((await fairlead(['top', '--once', '--url', server.url])).out).toContain('All is fine')
})

it('PAGE-1: --no-dashboard serves calls and no page', async () => {
  server = await serve(folder, '--no-dashboard')
  expect((await fetch(`${server.url}/`)).status).toBe(404)
  expect((await fetch(`${server.url}/livez`)).status).toBe(200)
})

it('PAGE-1: as JSON, serve gives the address of the page or null', async () => {
  const both = [[], ['--no-dashboard']].map(async (flags) => {
    const own = mkdtempSync(join(folder, 'own-'))
    const args = ['serve', '--port', '0', '--log-level', 'silent', '--json', ...flags]
    const process = new CliProcess(args, { cwd: own })
    const [line = ''] = await process.says(/^\{.*\}$/m)
    process.kill('SIGTERM')
    await process.ended
    return JSON.parse(line) as { url: string; dashboard: string | null }
  })
  const [shown, hidden] = await Promise.all(both)
  expect(shown?.dashboard).toBe(`${shown?.url}/`)
  expect(hidden?.dashboard).toBeNull()
})

it.each(['x', '/x/../y', '/a b', '/x/'])('PAGE-2: refuses the base path %s', async (path) => {
  const { code, err } = await fairlead(['serve', '--base-path', path], { cwd: folder })
  expect(code).not.toBe(0)
  expect(err).toContain('server.base_path')
  expect(err).toContain('expected a path such as /x/y')
})

it('FIGURE-5: top and doctor say the words of stats.verdict', async () => {
  server = await serve(folder)
  const { port } = new URL(server.url)
  const looks = async () => {
    const top = await fairlead(['top', '--once', '--json', '--url', server?.url ?? ''])
    const set = ['--set', `server.port=${port}`, '--set', `client.url=${server?.url}`]
    const doctor = await fairlead(['doctor', '--json', ...set], { cwd: folder })
    const findings = JSON.parse(doctor.out).findings as { name: string; text: string }[]
    const { verdict } = JSON.parse(top.out) as { verdict: { status: string; text: string } }
    return [verdict.status, verdict.text, findings.find(({ name }) => name === 'work')?.text]
  }
  const fine = 'All is fine: nothing waits, no job runs.'
  expect(await looks()).toEqual(['fine', fine, fine])
  await fairlead(['queues', 'pause', 'task', '--url', server.url])
  await fairlead(['enqueue', 'task', 'resize', '{}', '--url', server.url])
  // An answer is kept for a moment.
  const paused = expect.stringMatching(
    /^All is fine: .* 1 task job "resize" waits: the queue task has been paused for \d+/,
  )
  await expect.poll(looks, { timeout: 20_000 }).toEqual(['fine', paused, paused])
})
