import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'

const NOBODY = `0x${'0'.repeat(64)}`

let folder: string
let server: CliServer
/** Tells all that happens on the server, so that tests can wait for it. */
let events: CliProcess
const workers: CliProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-'))
  server = await serve(folder)
  events = new CliProcess(['jobs', 'watch', '--after', '0', '--url', server.url])
})
afterAll(async () => {
  events.kill('SIGTERM')
  await events.ended
  await server.stop()
  rmSync(folder, { recursive: true })
})
afterEach(async () => {
  for (const worker of workers.splice(0)) {
    worker.kill('SIGTERM')
    await worker.ended
  }
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

async function json(...args: string[]): Promise<never> {
  const { code, out, err } = await run(...args, '--json')
  expect({ code, err }).toMatchObject({ code: 0 })
  return JSON.parse(out) as never
}

/** A worker that runs a shell command for a provider of its own, once it is connected. */
async function worker(name: string, exec: string, ...args: string[]): Promise<CliProcess> {
  const provider = `provider:${name}`
  const own = ['--provider', provider, '--model', name, '--url', server.url]
  const process = new CliProcess(['worker', '--exec', exec, ...own, ...args])
  workers.push(process)
  await events.says(new RegExp(`workerConnected.*${provider}\\b`))
  return process
}

describe('fairlead worker', () => {
  it('says whom it serves once it is connected, and before that what keeps it', async () => {
    const alone = new CliProcess(['worker', '--exec', 'cat', '--url', 'http://127.0.0.1:1'])
    workers.push(alone)
    await alone.says(/127\.0\.0\.1:1.*ECONNREFUSED/)
    alone.kill('SIGTERM')
    const { code, err } = await alone.ended
    expect({ code, isServing: err.includes('is served by') }).toEqual({ code: 0, isServing: false })
    await (await worker('greeter', 'cat')).says(/provider:greeter is served by w-\S+ at http/)
  })
})

describe('fairlead signup', () => {
  const site = (url: string) => `providers:\n  swim:\n    adapter:\n      book: { url: '${url}' }\n`
  const start = (file: string) => {
    const process = new CliProcess(['signup', '--providers', file, '--url', server.url])
    workers.push(process)
    return process
  }

  it('serves the sites of its file, and reads the file again when it changes', async () => {
    const file = join(folder, 'providers.yaml')
    writeFileSync(file, site('https://swim.example/'))
    const process = start(file)
    await process.says(/provider:signup books at swim for http/)
    await events.says(/workerConnected.*provider:signup\b/)
    writeFileSync(file, `${site('https://swim.example/')}  golf: { burst: none }\n`)
    await process.says(/providers\.golf\.burst: expected a whole number/)
    writeFileSync(file, site('https://swim.example/').replace('swim:', 'golf:'))
    await process.says(/The file has changed: golf/)
    process.kill('SIGTERM')
    expect((await process.ended).code).toBe(0)
  })

  it('POLICY-8: a server has its budgets from the same file, without the secrets of it', async () => {
    const own = join(folder, 'own')
    mkdirSync(own)
    const sites = (burst: number) =>
      `providers:\n  swim:\n    burst: ${burst}\n    adapter:\n      book: { url: 'https://swim.example/' }\n      credentials: { default: '\${env:NOT_HERE}' }\n`
    const file = join(own, 'providers.yaml')
    writeFileSync(file, sites(7))
    writeFileSync(join(own, 'fairlead.yaml'), 'signup:\n  providers: providers.yaml\n')
    const another = await serve(own, '--log-level', 'info')
    const policy = async () => {
      const { out } = await fairlead(['policy', 'show', '--json', '--url', another.url])
      return JSON.stringify(JSON.parse(out))
    }
    try {
      expect(await policy()).toContain('"swim":{"burst":7')
      writeFileSync(file, sites(9))
      await another.process.says(/budgets of the booking sites are as the file says/)
      expect(await policy()).toContain('"swim":{"burst":9')
    } finally {
      await another.stop()
    }
  })

  it('a wrong file is told with all its problems, and nothing starts', async () => {
    const file = join(folder, 'wrong.yaml')
    writeFileSync(file, `${site('nowhere')}    burst: 0\n`)
    const { code, err } = await start(file).ended
    expect(code).toBe(2)
    expect(err).toContain('providers.swim.burst: expected a whole number')
    expect(err).toContain('providers.swim.adapter.book.url: expected http://')
  })
})

describe('fairlead enqueue and worker --exec', () => {
  it('a payload goes in on standard input, and the result comes back by --wait', async () => {
    const serving = await worker('say', `sed -e 's/^/got /'`)
    const { out, err } = await run('enqueue', 'task', 'say', '{"a": 1}', '--wait')
    const text = 'got {"args":{"a":1},"name":"say"}'
    expect({ out: out.trim(), err }).toEqual({ out: text, err: '' })
    await serving.says(/task say {2}completed after/)
  })

  it('an ai worker gets the prompt as it is, and the rest in its environment', async () => {
    const exec = 'printf "%s/%s/%s: " "$FAIRLEAD_KIND" "$FAIRLEAD_MODEL" "$FAIRLEAD_ATTEMPT"; cat'
    await worker('m1', exec, '--kind', 'ai')
    const { out } = await run('enqueue', 'ai', 'm1', 'Hello there', '--wait')
    expect(out.trim()).toBe('ai/m1/0: Hello there')
  })

  it('exit code 65 is for good, another is tried again', async () => {
    await worker('wrong', 'exit 65')
    const wrong = await run('enqueue', 'task', 'wrong', '--wait')
    expect(wrong.code).toBe(1)
    expect(wrong.err).toContain('is FAILED (permanent_error) and has no result')
    const again = await worker('again', 'exit 7')
    const { task_id } = (await json('enqueue', 'task', 'again')) as { task_id: string }
    await again.says(/failed \(exit 7\)/)
    await events.says(new RegExp(`jobRequeued.*${task_id.slice(0, 12)}.*PROVIDER_FAIL`))
  })

  it('a job that is cancelled ends the program that works on it', async () => {
    const slow = await worker('slow', 'echo begun >&2; exec sleep 600')
    const { task_id } = (await json('enqueue', 'task', 'slow')) as { task_id: string }
    await slow.says(/begun/)
    expect(await run('jobs', 'cancel', task_id)).toMatchObject({ code: 0 })
    await slow.says(/stopped after/)
    expect((await run('jobs', 'cancel', task_id)).code).toBe(0)
  })

  it('takes many from a file, one request a line', async () => {
    const file = join(folder, 'jobs.jsonl')
    const line = (n: number) =>
      JSON.stringify({ kind: 'task', payload: { name: 'bulk', args: { n } } })
    writeFileSync(file, `${[1, 2, 3].map(line).join('\n')}\n\n`)
    const receipts = (await json('enqueue', '--from', file)) as { task_id: string }[]
    expect(new Set(receipts.map(({ task_id }) => task_id)).size).toBe(3)
    writeFileSync(file, `${line(1)}\nnonsense\n`)
    const { code, err } = await run('enqueue', '--from', file)
    expect(code).toBe(2)
    expect(err).toContain('line 2: request: expected a JSON object')
  })

  it.each([
    [['enqueue'], 'expected a kind and a name'],
    [['enqueue', 'dance', 'x'], 'kind: expected one of task, ai, quantum, got dance'],
    [['enqueue', 'task', 'x', '[1]'], 'input: expected a JSON object'],
    [
      ['enqueue', 'ai', 'm', 'p', '--max-tokens', '0'],
      '--max-tokens: expected a whole number from 1',
    ],
    [['enqueue', 'task', 'x', '--ttl', '5'], '--ttl: expected a number with its unit'],
    [['worker'], '--exec: expected a program'],
    [['signup'], '--providers: expected a file with the booking sites'],
    [['signup', '--providers', 'nowhere.yaml'], 'providers: cannot read'],
    [['worker', '--exec', './nothing.sh x'], '--exec: expected a program that can be run here'],
    [['worker', '--exec', 'no-such-program'], '--exec: expected a program that can be run here'],
    [['worker', '--exec', 'true', '--kind', 'dance'], '--kind: expected one of ai, quantum'],
  ])('%j is wrong use: %s', async (args, message) => {
    const { code, err, out } = await run(...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})

describe('fairlead jobs, explain, providers', () => {
  it('shows, lists, explains and retries a job', async () => {
    const { task_id } = (await json('enqueue', 'task', 'nobody', '--fee', '7')) as {
      task_id: string
    }
    expect((await run('jobs', 'show', task_id)).out).toMatch(
      /status +QUEUED[\s\S]*\+0 s {2}jobEnqueued/,
    )
    expect((await run('jobs', 'list', '--kind', 'task')).out).toContain(task_id.slice(0, 12))
    expect((await run('explain', task_id)).out).toContain(
      'No provider offers "nobody"; connect a worker that does.',
    )
    const refused = await run('jobs', 'retry', task_id)
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('is QUEUED; wait for its end, or cancel it first')
    await run('jobs', 'cancel', task_id)
    const again = (await run('jobs', 'retry', task_id)).out.trim()
    expect(again).not.toBe(task_id)
    const { job } = (await json('jobs', 'show', again)) as { job: { request: object } }
    expect(job.request).toMatchObject({ max_fee_u64: 7, payload: { name: 'nobody' } })
  })

  it('watches a job to its end, from its beginning', async () => {
    const { task_id } = (await json('enqueue', 'task', 'watched')) as { task_id: string }
    const watching = new CliProcess(['jobs', 'watch', task_id, '--url', server.url])
    await watching.says(/jobEnqueued/)
    await worker('watched', 'true')
    const { code, out } = await watching.ended
    expect(code).toBe(0)
    const words = out
      .trim()
      .split('\n')
      .map((line) => /job\w+/.exec(line)?.[0])
    expect(words).toEqual(['jobEnqueued', 'jobAssigned', 'jobStarted', 'jobCompleted'])
  })

  it('watches everything until it is told to stop', async () => {
    await run('enqueue', 'task', 'nobody')
    const watching = new CliProcess([
      'jobs',
      'watch',
      '--after',
      '0',
      '--json',
      '--url',
      server.url,
    ])
    await watching.says(/"seq":1\b/)
    watching.kill('SIGINT')
    expect((await watching.ended).code).toBe(0)
  })

  it('lists providers, shows one, and sets its status', async () => {
    await worker('shown', 'true')
    expect((await run('providers', 'list')).out).toMatch(/provider:shown +ACTIVE +100 % +0\/1/)
    expect((await run('providers', 'show', 'provider:shown')).out).toContain('0 of 1 slots taken')
    const set = await run('providers', 'set-status', 'provider:shown', 'SUSPENDED')
    expect(set.out).toBe('provider:shown is SUSPENDED.\n')
    expect((await run('providers', 'set-status', 'provider:shown', 'HAPPY')).code).toBe(2)
  })

  it('says in a line what was refused, with an exit code for each sort', async () => {
    const unknown = await run('jobs', 'show', NOBODY)
    expect(unknown.code).toBe(3)
    expect(unknown.err).toBe(`fairlead: there is no job ${NOBODY}\n`)
    const wrong = await run('jobs', 'show', 'x', '--json')
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(JSON.parse(wrong.err)).toMatchObject({
      error: { code: 'InvalidParams', details: { field: 'task_id' }, retryable: false },
    })
    const nowhere = await fairlead(['jobs', 'list', '--url', 'http://127.0.0.1:1'])
    expect(nowhere.code).toBe(4)
    expect(nowhere.err).toContain('no server answers at')
  })
})

describe('fairlead policy and audit', () => {
  it('shows the policy in force, and puts another one in force', async () => {
    expect((await run('policy', 'show')).out).toMatch(/queue:\n +max_depth: 1000000/)
    const file = join(folder, 'policy.yaml')
    writeFileSync(file, 'queue:\n  batch_size: 99\n')
    expect((await run('policy', 'set', file)).out).toContain('is in force')
    expect(await json('policy', 'show')).toMatchObject({ queue: { batch_size: 99 } })
    writeFileSync(file, 'queue:\n  batch_size: 0\n  ack: 1\n')
    const { code, err } = await run('policy', 'set', file)
    expect(code).toBe(2)
    expect(err).toContain('2 problems')
  })

  it('verifies the log of the server, and an export of it on its own', async () => {
    expect((await run('audit', 'verify')).out).toMatch(
      /^\d+ entries, every link holds\. Head: \d+ 0x/,
    )
    const first = await run('audit', 'list', '--limit', '1')
    expect(first.out).toMatch(/^ +1 {2}\d{4}-/)
    expect(first.err).toContain('go on with --after 1.')
    const file = join(folder, 'audit.jsonl')
    const { err } = await run('audit', 'export', '--out', file)
    expect(err).toMatch(/\d+ entries written\./)
    expect((await fairlead(['audit', 'verify', '--file', file])).code).toBe(0)
    const lines = readFileSync(file, 'utf8').split('\n')
    lines[0] = (lines[0] as string).replace(/"at":\d/, '"at":9')
    writeFileSync(file, lines.join('\n'))
    const broken = await fairlead(['audit', 'verify', '--file', file])
    expect(broken.code).toBe(1)
    expect(broken.out).toContain('Broken at entry 1:')
    // A file that is there is not written over.
    expect((await run('audit', 'export', '--out', file)).code).toBe(1)
  })

  it('deletes what is old, says how much, and keeps what the policy keeps', async () => {
    expect((await run('audit', 'prune')).code).toBe(2)
    expect((await run('audit', 'prune', '--before', 'soon')).err).toContain('2026-01-31')
    // All there is has just been written.
    expect((await run('audit', 'prune', '--before', '0s')).out).toContain('nothing to delete')
    expect(await json('audit', 'prune', '--before', '2020-01-01')).toMatchObject({ deleted: 0 })
  })

  it('one look at the server, where nobody watches', async () => {
    const { out } = await run('top')
    for (const part of ['waiting', 'oldest wait', 'providers:', 'completed'])
      expect(out).toContain(part)
    expect(await json('top')).toMatchObject({ queues: expect.any(Array) })
  })
})

describe('fairlead serve, token, doctor', () => {
  let own: string
  beforeEach(() => {
    own = mkdtempSync(join(tmpdir(), 'fairlead-own-'))
  })
  afterEach(() => rmSync(own, { recursive: true }))

  it('refuses an open address without tokens, and says how to make one', async () => {
    const { code, err } = await fairlead(['serve', '--host', '0.0.0.0', '--port', '0'], {
      cwd: own,
    })
    expect(code).toBe(2)
    expect(err).toContain('fairlead token create')
  })

  it('refuses a port that is taken and a store that another process has', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const { code, err } = await fairlead(['serve', '--port', String(port)], { cwd: own })
    expect(code).toBe(2)
    expect(err).toContain('stop it, or choose another port')
    taken.close()
    const second = await fairlead(['serve', '--port', '0', '--store', join(folder, 'fairlead.db')])
    expect(second.code).toBe(4)
    expect(second.err).toMatch(/process \d+ on .* has it open/)
  })

  it('a first token closes the door to those without, while the server runs', async () => {
    const local = await serve(own)
    const list = (token?: string) =>
      fairlead(['jobs', 'list', '--url', local.url], {
        env: token === undefined ? {} : { FAIRLEAD_TOKEN: token },
      })
    // The server looks at the file of tokens within a second (AUTH-3).
    const refused = (token?: string) =>
      expect.poll(async () => (await list(token)).code, { timeout: 60_000 }).toBe(3)
    try {
      expect((await list()).code).toBe(0)
      const who = ['--role', 'admin', '--subject', 'me', '--tier', 'GOLD']
      const created = await fairlead(['token', 'create', ...who], { cwd: own })
      const token = created.out.trim()
      expect(created.err).toContain('no tier GOLD, only FREE, PRO, PREMIUM')
      expect(created.err).toContain('from now on every call needs a token')
      expect(statSync(join(own, 'fairlead.db.tokens.json')).mode & 0o077).toBe(0)
      for (const name of readdirSync(own)) expect(statSync(join(own, name)).mode & 0o007).toBe(0)
      const secret = token.slice('flt_'.length + 13)
      expect(readFileSync(join(own, 'fairlead.db.tokens.json'), 'utf8')).not.toContain(secret)
      await refused()
      expect((await list()).err).toContain('FAIRLEAD_TOKEN')
      expect((await list(token)).code).toBe(0)
      const listed = await fairlead(['token', 'list', '--json'], { cwd: own })
      const [{ id }] = JSON.parse(listed.out)
      expect((await fairlead(['token', 'revoke', id], { cwd: own })).out).toContain('is revoked')
      await refused(token)
    } finally {
      await local.stop()
    }
  })

  it('a requester sees its own jobs only, and a wrong role is refused', async () => {
    const local = await serve(own)
    const as = async (role: string, subject: string) => {
      const { out } = await fairlead(['token', 'create', '--role', role, '--subject', subject], {
        cwd: own,
      })
      return (...args: string[]) =>
        fairlead([...args, '--url', local.url, '--token', out.trim(), '--json'])
    }
    try {
      const acme = await as('requester', 'acme')
      const birch = await as('requester', 'birch')
      const { task_id } = JSON.parse((await acme('enqueue', 'task', 'x')).out)
      expect((await birch('jobs', 'show', task_id)).code).toBe(3)
      expect((await birch('jobs', 'show', task_id.slice(0, 12))).code).toBe(3)
      expect((await acme('jobs', 'show', task_id.slice(0, 12))).code).toBe(0)
      expect(JSON.parse((await birch('jobs', 'list')).out)).toEqual([])
      expect(JSON.parse((await acme('jobs', 'list')).out)).toHaveLength(1)
      expect((await acme('policy', 'show')).code).toBe(3)
    } finally {
      await local.stop()
    }
  })

  it('a policy that is configured is put in force at each start; without one the last stays', async () => {
    const batchSize = async (...args: string[]) => {
      const local = await serve(own, ...args)
      const { out } = await fairlead(['policy', 'show', '--json', '--url', local.url])
      expect((await local.stop()).code).toBe(0)
      return JSON.parse(out).queue.batch_size
    }
    expect(await batchSize('--set', 'queue.batch_size=11')).toBe(11)
    expect(await batchSize()).toBe(11)
    writeFileSync(join(own, 'fairlead.yaml'), 'queue:\n  batch_size: 12\n')
    expect(await batchSize()).toBe(12)
  })

  it('tells all problems of a configuration at once', async () => {
    writeFileSync(join(own, 'fairlead.yaml'), 'queue:\n  batch_size: 0\nserver:\n  prt: 1\n')
    for (const args of [['serve'], ['policy', 'check'], ['doctor']]) {
      const { code, out, err } = await fairlead(args, {
        cwd: own,
        env: { FAIRLEAD_LOG_LEVEL: 'loud' },
      })
      expect(code).toBe(args[0] === 'doctor' ? 1 : 2)
      for (const part of ['3 problems', 'queue.batch_size', 'server.prt', 'FAIRLEAD_LOG_LEVEL'])
        expect(out + err).toContain(part)
    }
  })

  it('PROFILE-5: policy check and doctor tell all problems of the booking sites, with file and line', async () => {
    const file = join(own, 'sites.yaml')
    const check = (...args: string[]) =>
      fairlead([...args, '--set', 'signup.providers=sites.yaml'], { cwd: own })
    writeFileSync(file, 'providers:\n  swim:\n    max_rps: many\n    retry:\n      windw_ms: 1\n')
    const refused = await check('policy', 'check')
    const doctor = await check('doctor', '--set', 'server.port=0')
    expect([refused.code, doctor.code]).toEqual([2, 1])
    expect(doctor.out).toMatch(/FAIL {2}booking sites/)
    for (const told of [refused.err, doctor.out]) {
      expect(told).toContain(`${file}, line 3: providers.swim.max_rps: expected`)
      expect(told).toContain(`${file}, line 5: providers.swim.retry.windw_ms: `)
    }
    // Secrets are not looked up: a server has none of them.
    writeFileSync(
      file,
      `providers:\n  swim:\n    adapter: { credentials: { default: '\${env:NOT_THERE}' } }\n`,
    )
    const fine = [await check('policy', 'check'), await check('doctor', '--set', 'server.port=0')]
    expect(fine.map(({ code }) => code)).toEqual([0, 0])
    expect(fine[0]?.out).toContain('sites.yaml: the booking sites, no problems.')
    expect(
      (await fairlead(['policy', 'check', '--set', 'signup.providers=no.yaml'], { cwd: own })).code,
    ).toBe(2)
  })

  it('doctor finds nothing wrong with a fresh folder, and says what is wrong with another', async () => {
    const fine = await fairlead(['doctor', '--set', 'server.port=0', '--json'], { cwd: own })
    expect(JSON.parse(fine.out)).toMatchObject({ ok: true })
    writeFileSync(join(own, 'fairlead.db'), 'this is no database, but a text that is long enough')
    const wrong = await fairlead(
      ['doctor', '--set', 'server.host=0.0.0.0', '--set', 'redis.url=redis://127.0.0.1:1'],
      { cwd: own, env: { FAIRLEAD_SERVICE_HOST: 'x' } },
    )
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(/FAIL {2}store/)
    expect(wrong.out).toMatch(/FAIL {2}tokens[\s\S]*→ Make one: fairlead token create/)
    expect(wrong.out).toMatch(/FAIL {2}redis[\s\S]*→ Start Redis there/)
    expect(wrong.out).toMatch(/warn {2}environment +.*FAIRLEAD_SERVICE_HOST/)
  })

  it('doctor finds a running server behind a store that is held, and live jobs in one that is not', async () => {
    const local = await serve(own)
    const { port } = new URL(local.url)
    const examined = async () => {
      const { out } = await fairlead(
        ['doctor', '--json', '--set', `server.port=${port}`, '--set', `client.url=${local.url}`],
        { cwd: own },
      )
      const findings = JSON.parse(out).findings as { name: string; text: string }[]
      return (name: string) => findings.find((one) => one.name === name)?.text
    }
    await fairlead(['enqueue', 'task', 'resize', '{}', '--url', local.url])
    const running = await examined()
    await local.stop()
    expect(running('store')).toContain('Another process has it open')
    expect(running('port')).toContain('A Fairlead server answers')
    expect(running('server')).toContain('is ready')
    const stopped = await examined()
    expect(stopped('store')).toContain('opens; live jobs in it: 1.')
    expect(stopped('server')).toContain('No server answers')
  })

  it('doctor looks at the store of --store, and asks the server of FAIRLEAD_URL', async () => {
    const path = join(own, 'named.db')
    const local = await serve(own, '--store', path)
    const examine = async (args: readonly string[], env: Record<string, string>) => {
      const asked = ['doctor', '--json', '--set', 'server.port=0', ...args]
      const { out } = await fairlead(asked, { cwd: own, env })
      const findings = JSON.parse(out).findings as { name: string; text: string }[]
      return (name: string) => findings.find((one) => one.name === name)?.text
    }
    try {
      const named = await examine(['--store', path], { FAIRLEAD_URL: local.url })
      expect(named('store')).toContain('Another process has it open')
      const elsewhere = join(own, 'none.db')
      const asked = await examine(['--store', elsewhere], { FAIRLEAD_URL: local.url })
      expect(asked('store')).toContain('none.db is not there yet')
      expect(asked('server')).toContain('is ready')
      expect(asked('work')).toBeDefined()
      expect((await examine(['--store', elsewhere], {}))('server')).toBeUndefined()
    } finally {
      await local.stop()
    }
  })
})

// Each of them takes its time, most of which is waiting.
describe.concurrent('fairlead demo', () => {
  it('runs to its end; every job comes to the end that it should, and so does everybody in the line of its opening', async () => {
    const { code, out, err } = await fairlead(['demo', '--exit', '--jobs', '40', '--json'])
    expect({ code, err: code === 0 ? '' : err + out }).toEqual({ code: 0, err: '' })
    const figures = JSON.parse(out)
    expect(figures).toMatchObject({
      jobs: 129,
      wrong: [],
      ends: { COMPLETED: 120, FAILED: 3, EXPIRED: 3, CANCELED: 3 },
    })
    expect(figures.explained.text).toContain('is COMPLETED')
    const places: { tried: number; booked: number }[] = figures.opening.by_place
    const sum = (count: 'tried' | 'booked') => places.reduce((total, of) => total + of[count], 0)
    expect({ tried: sum('tried'), booked: sum('booked') }).toEqual({ tried: 200, booked: 30 })
    // Who came first was tried first: the front of the line has seats, its end has none.
    expect(places[0]).toMatchObject({ tried: 10, booked: 10 })
    expect(places.at(-1)).toMatchObject({ tried: 100, booked: 0 })
  })

  it('SETTLE-19: --fund settles all work, slashes whose traps fail, and verifies its batches', async () => {
    const { code, out, err } = await fairlead(['demo', '--fund', '--jobs', '80', '--json'])
    expect({ code, err: code === 0 ? '' : err + out }).toEqual({ code: 0, err: '' })
    const { settlements, slashes, payout_proof, providers, wrong } = JSON.parse(out)
    expect(wrong).toEqual([])
    const claims = settlements.map((one: { claims: number }) => one.claims)
    expect(claims.reduce((sum: number, each: number) => sum + each, 0)).toBe(160)
    const slash = { provider_id: 'provider:cirrus', reason: 'traps' }
    expect(slashes).toContainEqual(expect.objectContaining(slash))
    expect(payout_proof).toMatchObject({ provider_id: 'provider:atlas' })
    expect(providers).toHaveLength(5)
  })

  it('stays up until it is told to stop, and can be looked at meanwhile', async () => {
    const demo = new CliProcess(['demo', '--jobs', '5'])
    const [, url = '', token = ''] = await demo.says(/FAIRLEAD_URL=(\S+) FAIRLEAD_TOKEN=(\S+)/)
    const env = { FAIRLEAD_URL: url, FAIRLEAD_TOKEN: token }
    expect((await fairlead(['providers', 'list'], { env })).out).toContain('provider:ember')
    const answer = await fairlead(['enqueue', 'ai', 'any', 'over the fence', '--wait'], { env })
    expect(answer.out.trim()).toBe('any says: fence the over')
    demo.kill('SIGINT')
    expect((await demo.ended).code).toBe(0)
  })
})
