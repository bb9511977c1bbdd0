import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '@fairlead/testkit/servers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fairlead as runHere } from './cli-process.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const vectors = join(root, 'vectors')
const bin = join(root, 'packages', 'fairlead', 'bin', 'fairlead.mjs')

/** The command line as a user has it: another process. */
function fairlead(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { code: status, out: stdout, err: stderr }
}

const run = (...args: string[]) => runHere(args)

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('fairlead', () => {
  it('shows its commands with --help and its version with --version', () => {
    const help = fairlead('--help')
    expect(help).toMatchObject({ code: 0 })
    const commands = ['demo', 'serve', 'worker', 'enqueue', 'jobs', 'explain', 'top', 'providers']
    commands.push('policy', 'token', 'audit', 'doctor', 'conformance')
    for (const command of commands) expect(help.out).toMatch(new RegExp(`^  ${command} `, 'm'))
    expect(help.out).toContain('Exit codes:')
    const groups = [...help.out.matchAll(/^(\S.*):$/gm)].map((match) => match[1])
    expect(groups).toEqual([
      'Options',
      'Try it',
      'Jobs',
      'Workers',
      'Server',
      'Store',
      'Limits',
      'Sign-ups',
      'Audit',
      'Fund',
      'More',
      'Exit codes',
    ])
    for (const line of help.out.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(fairlead('--version').out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('loads nothing but itself for --help, so that it answers at once', () => {
    const hook = `export const load = (url, context, next) => { process._rawDebug(url); return next(url, context) }`
    const start = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))})`
    for (const words of [[], ['serve'], ['jobs', 'list'], ['audit', 'prune']]) {
      const args = ['--import', dataUrl(start), bin, ...words, '--help']
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(status).toBe(0)
      const loaded = stderr.split('\n').filter((line) => line.startsWith('file:'))
      expect(loaded.length).toBeGreaterThan(10)
      const others = loaded.filter((url) => !/packages\/fairlead\/|commander|picocolors/.test(url))
      expect(others).toEqual([])
      const parts = /\/(demo|doctor|config|conformance|top|worker)\//
      expect(loaded.filter((url) => parts.test(url))).toEqual([])
    }
  })

  it('shows the help of every command with examples, and what stands under a group', () => {
    const help = fairlead('jobs', 'cancel', '--help')
    expect(help.out).toContain('Examples:')
    expect(help.out).toContain('--json')
    expect(fairlead('jobs', '--help').out).toMatch(
      /list[\s\S]*show[\s\S]*watch[\s\S]*cancel[\s\S]*retry/,
    )
    expect(fairlead('jobs').code).toBe(2)
  })

  it('keeps out of git the files that a server leaves in the checkout', () => {
    const left = ['', '-wal', '-shm', '-log-1', '-log-2', '.holder', '.key', '.tokens.json']
    const files = left.map((end) => `fairlead.db${end}`)
    const { stdout } = spawnSync('git', ['check-ignore', ...files], { cwd: root, encoding: 'utf8' })
    expect(stdout.trim().split('\n')).toEqual(files)
  })

  it('has every command that the pages for people name', () => {
    const pages = [
      'README.md',
      'docs/getting-started.md',
      'docs/operations.md',
      'examples/README.md',
    ]
    const named = pages.flatMap((page) => {
      const text = readFileSync(join(root, page), 'utf8')
      return [...text.matchAll(/(?:^ {4}|`|npx )fairlead ([a-z]+)/gm)].map((match) => match[1])
    })
    const { out } = fairlead('--help')
    expect(named.length).toBeGreaterThan(20)
    for (const name of new Set(named)) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  it('refuses an unknown command or option, says which, and ends with 2', () => {
    expect(fairlead('conform')).toMatchObject({ code: 2, out: '' })
    expect(fairlead('conform').err).toContain("unknown command 'conform'")
    expect(fairlead('demo', '--sed', '2').err).toContain("unknown option '--sed'")
  })
})

describe('fairlead conformance', () => {
  it('passes every vector of every suite that the product knows', async () => {
    const { code, out } = await run('conformance', vectors)
    expect(code).toBe(0)
    const known = out.split('\n').filter((line) => /: \d+ passed, 0 failed$/.test(line))
    expect(known.map((line) => line.split(':')[0])).toEqual([
      'audit',
      'backoff',
      'cbor',
      'fair',
      'hashes',
      'job-backoff',
      'lease',
      'limits',
      'match',
      'priority',
      'proof',
      'session-dispatch',
      'session-order',
      'settlement',
      'shuffle',
      'sla',
      'slots',
      'task-id',
    ])
    expect(out).not.toContain(': 0 passed')
  })

  it('passes the suite limits on a Redis too', async () => {
    const redis = await startRedis({ folder, keeps: 'none' })
    const words = ['conformance', vectors, '--suite', 'limits', '--redis', redis.url, '--json']
    const { code, out } = await run(...words)
    await redis.stop()
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, failed: 0 })
    const memory = JSON.parse((await run(...words.slice(0, 4), '--json')).out)
    expect(JSON.parse(out).passed).toBe(memory.passed)
  })

  it('names a suite that it does not know and goes on', async () => {
    writeVectors('future.json', { suite: 'future' })
    writeVectors('backoff.json', { suite: 'backoff' })
    const { code, out } = await run('conformance', folder)
    expect(code).toBe(0)
    expect(out).toBe('backoff: 0 passed, 0 failed\nfuture: skipped (unknown suite)\n')
  })

  it('shows a failing case by name with what was expected and what came, and ends with 1', async () => {
    const text = readFileSync(join(vectors, 'backoff.json'), 'utf8')
    writeFileSync(
      join(folder, 'backoff.json'),
      text.replace('"expect":{"delay_secs":5}', '"expect":{"delay_secs":6}'),
    )
    const { code, out } = await run('conformance', folder)
    expect(code).toBe(1)
    expect(out).toContain('passed, 1 failed\n  ai n=0\n    delay_secs: expected 6, got 5\n')
  })

  it('sees a change where none should be: every field of every suite is compared', async () => {
    cpSync(vectors, folder, { recursive: true })
    const { out } = await run('conformance', folder, '--suite', 'lease', '--json')
    expect(JSON.parse(out)).toMatchObject({ failed: 0 })
    const file = join(folder, 'lease.json')
    const spoilt = readFileSync(file, 'utf8').replaceAll('"health":1000', '"health":999')
    writeFileSync(file, spoilt)
    const { code, out: after } = await run('conformance', folder, '--suite', 'lease', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(after).failed).toBeGreaterThan(70)
  })

  it('runs one suite with --suite, and gives one JSON document with --json', async () => {
    const { code, out } = await run('conformance', vectors, '--suite', 'shuffle', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(out)
    expect(report).toMatchObject({ failed: 0, suites: [{ suite: 'shuffle', failures: [] }] })
    expect(report.passed).toBe(report.suites[0].passed)
  })

  it.each([
    ['{"suite": "cbor",\n "cases": [}', /broken\.json: line 2, column 12: not JSON/],
    ['[]', /broken\.json: the file: expected an object/],
    ['{"suite":"cbor","version":2,"cases":[]}', /broken\.json: version: expected 1/],
    ['{"suite":"cbor","version":1,"cases":{}}', /broken\.json: cases: expected a list/],
    [
      '{"suite":"cbor","version":1,"cases":[{"name":"a"}]}',
      /cases\[0\]\.input: expected an object/,
    ],
  ])(
    'a malformed file is an error that names the file and the place: %s',
    async (text, message) => {
      writeFileSync(join(folder, 'broken.json'), text)
      const { code, err, out } = await run('conformance', folder)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(message)
      expect(err).not.toContain('at ')
    },
  )

  it('says so when the folder or the suite is not there', async () => {
    expect(await run('conformance', join(folder, 'nowhere'))).toMatchObject({ code: 2 })
    expect((await run('conformance', folder)).err).toContain('expected a vector file (*.json)')
    const { code, err } = await run('conformance', vectors, '--suite', 'nothing')
    expect(code).toBe(2)
    expect(err).toContain('suite nothing, found suites audit, backoff')
  })

  it('a case that cannot be run at all has failed, and the others still count', async () => {
    writeVectors('hashes.json', {
      suite: 'hashes',
      cases: [
        { name: 'odd', input: { op: 'nonsense' }, expect: {} },
        { name: 'good', input: { op: 'uvarint', n: 0 }, expect: { bytes: '0x00' } },
      ],
    })
    const { code, out } = await run('conformance', folder)
    expect(code).toBe(1)
    expect(out).toContain('hashes: 1 passed, 1 failed\n  odd\n    result: expected "a result"')
  })
})

describe('fairlead demo --rules', () => {
  it('gives the same output for the same seed, byte for byte, and another one for another', async () => {
    const first = await run('demo', '--rules', '--seed', '7')
    expect(first.code).toBe(0)
    expect((await run('demo', '--rules', '--seed', '7')).out).toBe(first.out)
    expect((await run('demo', '--rules', '--seed', '8')).out).not.toBe(first.out)
  })

  it('shows waits by tier, jobs per provider, ways back to the queue and one explanation', async () => {
    const { out } = await run('demo', '--rules')
    for (const part of [
      'PREMIUM',
      'provider',
      'LEASE_EXPIRED',
      'DECLINED',
      'first check that fails',
    ]) {
      expect(out).toContain(part)
    }
  })

  it('loses no job: all are accounted for in the figures', async () => {
    const { out } = await run('demo', '--rules', '--json', '--seed', '3')
    const figures = JSON.parse(out)
    const ended = Object.values<number>(figures.jobs).reduce((sum, n) => sum + n, 0)
    const done = figures.providers.reduce(
      (sum: number, p: { completed: number }) => sum + p.completed,
      0,
    )
    expect(ended).toBe(480)
    expect(done).toBe(figures.jobs.COMPLETED)
  })

  it('refuses a seed that is none', async () => {
    expect(await run('demo', '--rules', '--seed', 'x')).toMatchObject({ code: 2, out: '' })
  })
})

function writeVectors(file: string, vectorsOf: { suite: string; cases?: unknown[] }): void {
  const frame = { version: 1, rules: '', cases: [], ...vectorsOf }
  writeFileSync(join(folder, file), JSON.stringify(frame))
}
