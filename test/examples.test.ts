import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@fairlead/testkit/postgres'
import { startRedis } from '@fairlead/testkit/servers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { installPeers } from '../bench/dist/queue/servers/install-peers.js'
import {
  CliProcess,
  type CliServer,
  fairlead,
  serve,
} from '../packages/fairlead/test/cli-process.ts'

const root = join(import.meta.dirname, '..')
const examples = join(root, 'examples')

let folder: string
let server: CliServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-examples-'))
  server = await serve(folder)
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const queueExample = join(examples, 'queue.mjs')

/** Runs an example to its end, as its reader would. */
async function run(program: string, ...args: string[]): Promise<string> {
  return runWith({}, program, ...args)
}

/** A package is looked for from the folder of the program, so it is copied to those that it compares Fairlead with. */
async function besidePeers(example: string, env: Record<string, string>): Promise<string> {
  expect(installPeers((text) => console.error(text), true)).toBeNull()
  const copy = join(root, 'bench', 'peers', `${process.pid}-${example}`)
  copyFileSync(join(examples, example), copy)
  try {
    return await runWith(env, process.execPath, copy, join(folder, `${example}.db`))
  } finally {
    rmSync(copy)
  }
}

async function runWith(
  env: Record<string, string>,
  program: string,
  ...args: string[]
): Promise<string> {
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, FAIRLEAD_URL: server.url, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const [code] = await once(child, 'close')
  expect(`${args.at(-1) ?? program} ended with ${code}`).toMatch(/ 0$/)
  return out
}

it('enqueue.sh and handler.sh: a job with curl, and a shell script that does it', async () => {
  const { result } = JSON.parse(await run(join(examples, 'enqueue.sh'), 'hello'))
  expect(result).toMatchObject({ accepted: true, kind: 'task' })
  const handler = join(examples, 'handler.sh')
  const worker = new CliProcess([
    'worker',
    '--exec',
    handler,
    '--model',
    'shout',
    '--url',
    server.url,
  ])
  const watching = await fairlead(['jobs', 'watch', result.task_id, '--url', server.url])
  expect(watching.code).toBe(0)
  const shown = await fairlead(['jobs', 'show', result.task_id, '--url', server.url])
  expect(shown.out).toMatch(/output +HELLO/)
  worker.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})

it('worker.mjs and requester.mjs: a job goes in, is done, and is explained', async () => {
  const child = spawn(process.execPath, [join(examples, 'worker.mjs')], {
    cwd: root,
    env: { ...process.env, FAIRLEAD_URL: server.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const out = await run(process.execPath, join(examples, 'requester.mjs'))
  expect(out).toMatch(/^You said: Hello!\nJob 0x\w+ \(ai "llama3-8b"\) is COMPLETED/)
  child.kill('SIGTERM')
  await ended
})

it('events.mjs: follows what has happened', async () => {
  expect(await run(process.execPath, join(examples, 'events.mjs'))).toMatch(/jobCompleted 0x\w+\n$/)
})

it('typed-results.mjs: results by a schema', async () => {
  expect(await run(process.execPath, join(examples, 'typed-results.mjs'))).toBe('42\n')
})

it('in-process.mjs: the engine without a server', async () => {
  const file = join(folder, 'own.db')
  expect(await run(process.execPath, join(examples, 'in-process.mjs'), file)).toBe('hello world\n')
})

it('fairlead.yaml: has no problems', async () => {
  const { code } = await fairlead(['policy', 'check', '--config', join(examples, 'fairlead.yaml')])
  expect(code).toBe(0)
})

it('openai-limits.mjs: the openai package against fake-provider.mjs, within its limits', async () => {
  const out = await run(process.execPath, join(examples, 'openai-limits.mjs'), '25')
  expect(out).toMatch(/^25 answers in /)
})

it('limits.sh: a limit of the server, with curl', async () => {
  const lines = (await run(join(examples, 'limits.sh'))).trim().split('\n')
  const [defined, reserved, completed, shown] = lines.map((line) => JSON.parse(line))
  expect(defined.limit).toMatchObject({ state: 'active', held: 0 })
  expect(reserved).toMatchObject({ allowed: true, error: null })
  expect(completed).toMatchObject({ ok: true })
  expect(shown.limit).toMatchObject({ definition: defined.limit.definition, held: 740 })
})

it('queue-limits.mjs: a quota inside the queue is kept, and used', async () => {
  const out = await run(process.execPath, join(examples, 'queue-limits.mjs'))
  expect(out).toMatch(/the last job waits: it needs \d+ of global:llm:acme:m1:/)
  expect(out).toMatch(/^2000 jobs, refused by the provider: 0$/m)
  const share = /, ([\d.]+) % of the quota$/m.exec(out)?.[1]
  expect(Number(share)).toBeGreaterThanOrEqual(95)
  expect(Number(share)).toBeLessThanOrEqual(100)
})

it('outbox.mjs: a job is enqueued if and only if the transaction commits', async () => {
  const file = join(folder, 'shop.db')
  const out = await run(process.execPath, join(examples, 'outbox.mjs'), file)
  expect(out).toBe('a unicorn: out of stock\nreceipt for order 1, a kettle\n')
})

it.each([':memory:', 'file', 'server'])(
  'queue.mjs: a queue in five lines, in %s',
  async (where) => {
    const target = where === 'file' ? join(folder, 'queue.db') : where
    const out = await run(process.execPath, queueExample, where === 'server' ? server.url : target)
    expect(out).toContain("{ sentTo: 'ann@example.org' }\n")
    expect(out).toContain(
      'FAILED (permanent_error) after 1 attempt: permanent: nobody is no address',
    )
  },
)

it('from-bullmq.mjs: the quick start of BullMQ, and the same with Fairlead', async () => {
  const redis = await startRedis({ folder })
  try {
    const out = await besidePeers('from-bullmq.mjs', { REDIS_URL: redis.url })
    expect(out).toBe('BullMQ painted a blue car\nFairlead painted a blue car\n')
  } finally {
    await redis.stop()
  }
})

it('from-pg-boss.mjs: the quick start of pg-boss, and the same with Fairlead', async () => {
  const postgres = await startPostgres(join(folder, 'postgres'))
  try {
    const { url } = await postgres.createDatabase()
    const out = await besidePeers('from-pg-boss.mjs', { DATABASE_URL: url })
    expect(out).toBe('pg-boss received read me\nFairlead received read me\n')
  } finally {
    await postgres.stop()
  }
})

it('every example is in the list, and run by a test', () => {
  const files = readdirSync(examples).filter((name) => name !== 'README.md')
  const list = readFileSync(join(examples, 'README.md'), 'utf8')
  const tests = readFileSync(import.meta.filename, 'utf8')
  for (const file of files) {
    expect(list).toContain(`(${file})`)
    expect(tests).toContain(file)
  }
})
