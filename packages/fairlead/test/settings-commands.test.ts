import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fairlead, serve } from './cli-process.ts'

const BIN = join(import.meta.dirname, '..', 'bin', 'fairlead.mjs')

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-settings-')))
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  fairlead(args, { cwd: folder, env: { FAIRLEAD_URL: 'http://127.0.0.1:1', ...env } })

const ADMIN = ['token', 'create', '--role', 'admin', '--subject', 'me']

describe('fairlead token create', () => {
  it('says which file it wrote and which server reads it, and warns where there is no store', async () => {
    const tokens = join(folder, 'data.db.tokens.json')
    const early = await run([...ADMIN, '--store', 'data.db'])
    expect(early.err).toContain(`Written to ${tokens}, which a server on ${folder}/data.db reads.`)
    expect(early.err).toContain(`Warning: there is no store ${folder}/data.db`)
    const server = await serve(folder, '--store', 'data.db')
    try {
      const late = await run([...ADMIN, '--set', 'store.path=data.db'], {
        FAIRLEAD_URL: server.url,
      })
      expect(late.err).toContain(`Written to ${tokens}, which`)
      expect(late.err).not.toContain('Warning')
      const env = { FAIRLEAD_URL: server.url, FAIRLEAD_TOKEN: late.out.trim() }
      expect((await run(['jobs', 'list'], env)).code).toBe(0)
      // The same server, and a token for another store.
      const stray = await run(ADMIN, { FAIRLEAD_URL: server.url })
      expect(stray.err).toContain(`Warning: the server at ${server.url} runs on another store`)
      const listed = await run(['token', 'list', '--store', 'data.db', '--json'])
      expect(JSON.parse(listed.out)).toHaveLength(2)
    } finally {
      await server.stop()
    }
  })
})

describe('variables that stand for no setting', () => {
  const env = { FAIRLEAD_PORT: '1', FAIRLEAD_XYZZY: '1' }

  it.each([[['policy', 'check']], [['token', 'list']]])('are told by %j, once', async (args) => {
    const { code, err } = await run(args, env)
    expect(code).toBe(0)
    expect(err.match(/FAIRLEAD_PORT: ignored/g)).toHaveLength(1)
    expect(err).toContain('did you mean FAIRLEAD_SERVER_PORT?')
    expect(err).toMatch(/FAIRLEAD_XYZZY: ignored, .*expected one of FAIRLEAD_CONFIG, FAIRLEAD_URL/)
  })

  it('are told by serve, and by commands that call a server', async () => {
    const taken = await run(['serve', '--host', '0.0.0.0'], env)
    expect(taken.err).toContain('did you mean FAIRLEAD_SERVER_PORT?')
    const list = await run(['jobs', 'list', '--json'], env)
    const [first = '', second = '', last = ''] = list.err.trim().split('\n')
    for (const line of [first, second]) expect(JSON.parse(line)).toHaveProperty('warning')
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'StoreUnavailable' } })
    const doctor = await run(['doctor', '--set', 'server.port=0'], env)
    expect(doctor.err).toBe('')
    expect(doctor.out).toMatch(/warn {2}environment +FAIRLEAD_PORT: ignored/)
  })
})

describe('settings that are wrong', () => {
  it('are told with the right ones by policy check and serve, with the place of each', async () => {
    writeFileSync(
      join(folder, 'fairlead.yaml'),
      'queue:\n  batchsize: 1\n  completion:\n    ai_verification: proof\nmatch:\n  order: best\n',
    )
    for (const command of [['policy', 'check'], ['serve']]) {
      const { code, err } = await run(command)
      expect(code).toBe(2)
      expect(err).toContain('did you mean queue.batch_size? queue has max_depth, max_per_caller,')
      expect(err).toContain('match.order: expected one of first-fit, rotate, score, got "best"')
      expect(err).toContain('docs/reference/settings.md')
    }
    writeFileSync(
      join(folder, 'fairlead.yaml'),
      'queue:\n  completion:\n    ai_verification: proof\nregistry:\n  attestation_required:\n    task: true\n',
    )
    for (const command of [['policy', 'check'], ['serve']]) {
      const { code, err } = await run(command)
      expect(code).toBe(2)
      expect(err).toMatch(/attestation_required\.task: expected false.*fairlead\.yaml:6\)/)
    }
  })

  it('an unknown option or command is told with those that there are', async () => {
    const option = await run(['jobs', 'list', '--stats', 'QUEUED'])
    expect(option.code).toBe(2)
    expect(option.err).toContain('(Did you mean --status?)')
    expect(option.err).toMatch(/Options: --status, --kind, --name,[\s\S]*fairlead jobs list --help/)
    const group = await run(['jobs', 'lst'])
    expect(group.err).toContain('(Did you mean list?)')
    expect(group.err).toContain(
      'Commands: list, show, watch, logs, cancel, retry\nfairlead jobs --help',
    )
  })
})

describe('queue.max_per_caller', () => {
  /** The limit in force on a server that is started with these arguments. */
  async function limitOf(...args: string[]): Promise<unknown> {
    const server = await serve(folder, ...args)
    const token = (await run(ADMIN)).out.trim()
    const limit = await limitAt({ FAIRLEAD_URL: server.url, FAIRLEAD_TOKEN: token })
    expect((await server.stop()).code).toBe(0)
    return limit
  }

  async function limitAt(env: Record<string, string>): Promise<unknown> {
    const { out } = await run(['policy', 'show', '--json'], env)
    return JSON.parse(out).queue.max_per_caller
  }

  it('ENQUEUE-7: is a tenth of queue.max_depth from the first token on', async () => {
    const server = await serve(folder)
    const open = { FAIRLEAD_URL: server.url }
    expect(await limitAt(open)).toBeNull()
    const token = (await run(ADMIN)).out.trim()
    const env = { ...open, FAIRLEAD_TOKEN: token }
    let limit = await limitAt(env)
    while (limit === null) limit = await limitAt(env)
    expect(limit).toBe(100_000)
    await server.stop()
  })

  it('ENQUEUE-7: is a tenth of queue.max_depth where there are tokens, unless it is set', async () => {
    expect(await limitOf('--set', 'queue.max_per_caller=null')).toBeNull()
    expect(await limitOf()).toBe(100_000)
    expect(await limitOf('--set', 'queue.max_depth=1239')).toBe(123)
    expect(await limitOf('--set', 'queue.max_per_caller=7')).toBe(7)
    expect(await limitOf('--set', 'queue.max_per_caller=null')).toBeNull()
  })
})

/** `script` of util-linux runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes(
  'util-linux',
)

describe('fairlead serve on a terminal', () => {
  it.skipIf(!hasScript)('says everything once, without log lines', async () => {
    // Without exec, a shell such as dash dies of the same Ctrl-C and its exit code hides that of serve.
    const command = `exec '${process.execPath}' '${BIN}' serve --port 0`
    const env = { ...process.env, SHELL: '/bin/sh' }
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env })
    const ended = once(child, 'close')
    let said = ''
    const isUp = new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.includes('Ctrl-C stops it')) resolve()
      })
    })
    await Promise.race([isUp, ended])
    // A server that did not start has closed it; what it said is told below.
    child.stdin.on('error', () => {}).write('\u0003')
    const [code] = await ended
    expect(code, said).toBe(0)
    const lines = said.replaceAll('\r', '').replaceAll('^C', '').trim().split('\n')
    expect(lines).toEqual([
      expect.stringMatching(/^Fairlead serves http:\S+ on .*fairlead\.db$/),
      expect.stringMatching(/^Dashboard: http:\S+\/$/),
      expect.stringMatching(
        /^There are no tokens in .*: everybody on this machine is a local admin\.$/,
      ),
      'Ctrl-C stops it.',
      'Stopping …',
    ])
  })
})
