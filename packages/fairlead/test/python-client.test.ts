import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as connectSocket, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient, type Worker } from '@fairlead/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'
import { type Ended, ProgramProcess } from './program-process.ts'

const CLIENT = join(import.meta.dirname, '..', '..', '..', 'clients', 'python')
const WORKER = join(import.meta.dirname, 'python-worker.py')
const env = { PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' }

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) console.warn('The Python client is not tested: there is no python3 here.')

let folder: string
let server: CliServer
let client: NodeClient
let worker: ProgramProcess
const running: ProgramProcess[] = []
const workers: Worker[] = []

/** Leases of tasks that are renewed after a tenth, and short backoffs. */
function policy({ leaseSecs, ackMs }: { leaseSecs: number; ackMs: number }) {
  return {
    queue: {
      ack_timeout_ms: ackMs,
      lease: { task_secs: leaseSecs, renew_alpha: 0.1 },
      retries: { base_backoff_task_secs: 1 },
    },
  }
}

const ROOMY = policy({ leaseSecs: 6, ackMs: 5_000 })
const SHORT = policy({ leaseSecs: 1, ackMs: 900 })

function python(...args: string[]): ProgramProcess {
  const program = new ProgramProcess(['python3', ...args], { env })
  running.push(program)
  return program
}

function pythonWorker(provider: string, { grace = 60 } = {}): ProgramProcess {
  return python(
    WORKER,
    server.url,
    provider,
    String(grace),
    `w-${provider.slice('provider:'.length)}`,
  )
}

/** Runs a script against a server to its end. */
async function script(text: string, url = server.url): Promise<Ended> {
  const head = `import json\nfrom fairlead import *\nclient = Client(${JSON.stringify(url)})\n`
  return await python('-c', head + text).ended
}

async function printed(text: string, url?: string): Promise<string> {
  const { code, out, err } = await script(text, url)
  expect(`${code} ${err}`).toBe('0 ')
  return out.trimEnd()
}

async function enqueue(name: string, args = {}): Promise<string> {
  return (await client.enqueue({ kind: 'task', payload: { name, args } })).task_id
}

/** Resolves when it has happened to a job. */
async function happened(jobId: string, types: readonly string[]): Promise<void> {
  for await (const event of client.events({ afterSeq: 0 })) {
    const isIts = 'jobId' in event && event.jobId === jobId
    if (isIts && types.includes(event.type)) return
  }
}

/** Tasks of a name, worked on in this process until the end of the tests. */
function nodeWorker(provider: string, name: string, at = client): void {
  const started = at.worker({
    providerId: provider,
    kinds: ['task'],
    models: [name],
    concurrency: 16,
    drainMs: null,
    onError: () => {},
    handler: ({ payload, attempt }) => `node, attempt ${attempt}, ${JSON.stringify(payload.args)}`,
  })
  // The first token ends those without one.
  started.closed.catch(() => {})
  workers.push(started)
}

describe.skipIf(!hasPython)('the Python client', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-python-'))
    server = await serve(folder)
    client = connect(server.url)
    await client.call('policy.set', { policy: ROOMY })
    worker = pythonWorker('provider:python')
    await worker.says(/is served by/)
  })

  afterAll(async () => {
    for (const program of running) program.kill('SIGKILL')
    await Promise.all(running.map(({ ended }) => ended))
    await Promise.allSettled(workers.map((each) => each.stop()))
    await client.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('WIRE-1: a job from Python is worked on in Node, and its key gives the same receipt again', async () => {
    nodeWorker('provider:node', 'greet')
    const out = await printed(`
first = client.enqueue("greet", {"name": "Ü"}, idempotency_key="greet-1")
assert client.enqueue("greet", {"name": "Ü"}, idempotency_key="greet-1") == first
print(client.wait(first["task_id"]))
receipts = client.enqueue_many([("greet", {"n": n}) for n in range(250)])
print(len({each["task_id"] for each in receipts}), client.wait(receipts[-1]["task_id"]))`)
    expect(out).toBe('node, attempt 0, {"name":"Ü"}\n250 node, attempt 0, {"n":249}')
  })

  it.each([
    ['text', 'grüße 🎉', 'text/plain'],
    ['bytes', Uint8Array.of(0, 255, 16), 'application/octet-stream'],
    ['json', { list: [1, 2.5, null, true], of: { what: 'json' } }, 'application/json'],
    ['number', 17, 'application/json'],
    ['nothing', undefined, null],
    ['csv', 'a,b', 'text/csv'],
  ])('PYTHON-3: the value of a Python handler has its type: %s', async (what, value, type) => {
    const { value: read, record } = await client.waitForResult(await enqueue('value', { what }))
    expect(read).toEqual(value)
    expect(record.content_type).toBe(type)
    if (what === 'csv') expect(record).toMatchObject({ meta: { rows: 1 } })
  })

  it('PYTHON-3: Python reads the value that the handler returned', async () => {
    const out = await printed(`
for what in ("text", "bytes", "json", "number", "nothing", "csv"):
    print(ascii(client.wait(client.enqueue("value", {"what": what})["task_id"])))
ai = client.call("policy.get")["policy"]["queue"]["completion"]["ai_verification"]
payload = {"model": "echo", "prompt": "0x is text", "max_tokens": 9}
print(ai, client.wait(client.enqueue("ai", payload)["task_id"]))`)
    expect(out.split('\n')).toEqual([
      String.raw`'gr\xfc\xdfe \U0001f389'`,
      String.raw`b'\x00\xff\x10'`,
      `{'list': [1, 2.5, None, True], 'of': {'what': 'json'}}`,
      '17',
      'None',
      `'a,b'`,
      `none b'You said: 0x is text'`,
    ])
  })

  it('PYTHON-3: a value that JSON cannot hold ends the job, with its place', async () => {
    const nan = await enqueue('value', { what: 'nan' })
    await expect(client.waitForResult(nan)).rejects.toThrow(
      /output_not_serializable: result\[0\]\.x: expected a finite number, got nan/,
    )
    const set = await enqueue('value', { what: 'set' })
    await expect(client.waitForResult(set)).rejects.toThrow(/result\.a: expected .+, got a set/)
  })

  it('FAIL-1: a handler that raises fails its attempt, with its traceback', async () => {
    const taskId = await enqueue('raise')
    await happened(taskId, ['jobRequeued'])
    const [error] = (await client.getJob(taskId)).job.errors
    expect(error).toMatchObject({
      code: 'error',
      message: 'no such thing: ü',
      details: { name: 'ValueError', cause: "'absent'" },
    })
    const { stack = '' } = (error?.details ?? {}) as { stack?: string }
    expect(stack).toMatch(/python-worker\.py", line \d+, in fail\n/)
    expect(stack).not.toContain('in _run')
    await client.cancel(taskId)
  })

  it('FAIL-4: a handler says that an error is permanent, or when to try again', async () => {
    const wrong = await enqueue('permanent')
    await happened(wrong, ['jobFailed'])
    expect((await client.getJob(wrong)).job).toMatchObject({
      reason: 'permanent_error',
      last_error: { code: 'invalid_input', message: 'the width is negative' },
    })
    const later = await enqueue('later')
    await happened(later, ['jobRequeued'])
    const { job } = await client.getJob(later)
    expect(job).toMatchObject({ status: 'QUEUED', last_error: { code: 'retry_after' } })
    expect((job.not_before ?? 0) - (job.last_error?.at ?? 0)).toBe(3_600_000)
    const out = await printed(`
print(client.cancel("${later}"), client.cancel("${later}"), client.get_job("${later}")["status"])`)
    expect(out).toBe('CANCELED CANCELED CANCELED')
  })

  it('WORKER-8: a handler may be a coroutine, and is told when its job is cancelled', async () => {
    expect((await client.waitForResult(await enqueue('async'))).value).toBe('attempt 0 of async')
    const taskId = await enqueue('until-lost')
    await worker.says(/waits/)
    await client.cancel(taskId)
    await worker.says(/lost: job_ended/)
  })

  it('PYTHON-1: a lease is renewed while its handler runs', async () => {
    const renewed = (async () => {
      for await (const event of client.events()) if (event.type === 'leaseRenewed') return
    })()
    const taskId = await enqueue('hold')
    await worker.says(/holds attempt 0/)
    await renewed
    worker.hears('\n')
    expect((await client.waitForResult(taskId)).value).toBe('done at attempt 0')
  })

  it('PYTHON-2: without work SIGTERM ends a worker at once', async () => {
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({
      code: 0,
      out: expect.stringMatching(/has ended\n$/),
    })
  })

  it('PYTHON-1: the job of a worker that was killed goes to another', async () => {
    const victim = pythonWorker('provider:victim')
    await victim.says(/is served by/)
    // A server cannot tell a killed worker from a slow one before its lease is over.
    await client.call('policy.set', { policy: SHORT })
    const taskId = await enqueue('hold')
    await victim.says(/holds attempt/)
    victim.kill('SIGKILL')
    nodeWorker('provider:heir', 'hold')
    expect((await client.waitForResult(taskId)).value).toMatch(/^node, attempt [1-9], \{\}$/)
    await client.call('policy.set', { policy: ROOMY })
    await workers.pop()?.stop()
  })

  it('PYTHON-2: SIGTERM drains: the job that runs ends, and no other begins', async () => {
    const draining = pythonWorker('provider:draining')
    await draining.says(/is served by/)
    const first = await enqueue('hold')
    await draining.says(/holds attempt 0/)
    draining.kill('SIGTERM')
    await draining.says(/no more jobs come, 1 under way/)
    const second = await enqueue('hold')
    draining.hears('\n')
    expect((await client.waitForResult(first)).value).toBe('done at attempt 0')
    const { code, out } = await draining.ended
    expect([code, out]).toEqual([0, 'holds attempt 0\nhas ended\n'])
    expect((await client.getJob(second)).status).toBe('QUEUED')
    await client.cancel(second)
  })

  it('PYTHON-2: after its grace a job is given back, and its handler is told', async () => {
    const hasty = pythonWorker('provider:hasty', { grace: 0 })
    await hasty.says(/is served by/)
    const taskId = await enqueue('until-lost')
    await hasty.says(/waits/)
    hasty.kill('SIGINT')
    expect((await hasty.ended).code).toBe(0)
    const { job } = await client.getJob(taskId)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 0, last_error: null })
    await client.cancel(taskId)
  })

  it('PYTHON-4: an enqueue whose answer was lost is asked again with the same key', async () => {
    const cut = await cutFirstAnswer(Number(new URL(server.url).port))
    const { port } = cut.address() as { port: number }
    const out = await printed(
      `print(client.enqueue("lost-answer", {})["task_id"])`,
      `http://127.0.0.1:${port}`,
    )
    cut.close()
    const jobs: string[] = []
    for await (const job of client.listJobs({ name: 'lost-answer' })) jobs.push(job.task_id)
    expect(jobs).toEqual([out])
  })

  it('ERROR-2: an error has its code, message and details', async () => {
    const out = await printed(`
def refusal(call):
    try: call()
    except FairleadError as error: print(error.code, error.retryable, error.details.get("field"), error)
refusal(lambda: client.enqueue("greet", {}, ttl=1))
refusal(lambda: client.enqueue("greet", [1]))
refusal(lambda: client.enqueue("greet", {"at": {1}}))
refusal(lambda: client.enqueue("greet", {"long": "x" * 2**21}))
refusal(lambda: client.enqueue_many([("greet", {}), ("ai", {})]))
refusal(lambda: client.wait("0x" + "00" * 32))
refusal(lambda: Client("ftp://x"))
refusal(lambda: Client("http://127.0.0.1:9", timeout=0.1).get_job("0x00"))`)
    expect(out.split('\n').map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'InvalidParams False ttl',
      'InvalidParams False args',
      'InvalidParams False params',
      'LimitExceeded False None',
      'InvalidParams False model',
      'NotFound False None',
      'InvalidParams False url',
      'StoreUnavailable True None',
    ])
  })

  it('the README is true: its first job, and its first worker', async () => {
    const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8').replaceAll(
      'http://127.0.0.1:7433',
      server.url,
    )
    const [first = '', second = ''] = [...readme.matchAll(/```python\n([\s\S]*?)```/g)].map(
      ([, code = '']) => code,
    )
    const served = python('-c', first)
    const asked = python('-c', second)
    expect(await asked.ended).toMatchObject({ code: 0, out: 'HELLO\n' })
    served.kill('SIGTERM')
    expect((await served.ended).code).toBe(0)
  })

  it('CLOSE-1: a worker and a caller outlive a restart of the server', async () => {
    // Leases that a slow start of the server does not use up.
    await client.call('policy.set', { policy: {} })
    const holding = pythonWorker('provider:python')
    const caller = python(
      '-u',
      '-c',
      `from fairlead import *
client = Client(${JSON.stringify(server.url)})
receipt = client.enqueue("hold")
print("enqueued")
print(client.wait(receipt["task_id"]))`,
    )
    await caller.says(/enqueued/)
    await holding.says(/holds attempt 0/)
    server.process.kill('SIGKILL')
    await server.process.ended
    await holding.says(/trying again/)
    holding.hears('\n')
    const late = script('print(client.enqueue("value", {"what": "text"})["accepted"])', server.url)
    server = await serveAgain(server)
    expect((await caller.ended).out).toBe('enqueued\ndone at attempt 0\n')
    expect((await late).out).toBe('True\n')
    holding.kill('SIGTERM')
    expect((await holding.ended).code).toBe(0)
  })

  // From here on the server has tokens.
  it('AUTH-1: a wrong token is refused at once, and ends a worker', async () => {
    const create = async (role: string, subject: string) => {
      const args = ['token', 'create', '--role', role, '--subject', subject, '--json']
      return JSON.parse((await fairlead(args, { cwd: folder })).out).token as string
    }
    const [requester, provider] = [
      await create('requester', 'acme'),
      await create('provider', 'provider:py'),
    ]
    const { out } = await script(
      `
def run(token, provider):
    worker = Worker(Client(client.url, token=token), provider)
    @worker.task("up")
    def up(data, job):
        worker.stop()
        return data["text"].upper()
    worker.run()
def refusal(call):
    try: call()
    except FairleadError as error: print(error.code)
refusal(lambda: client.enqueue("up", {}))
refusal(lambda: Client(client.url, token="wrong").enqueue("up", {}))
refusal(lambda: run("wrong", "provider:py"))
refusal(lambda: run("${provider}", "provider:other"))
own = Client(client.url, token="${requester}")
receipt = own.enqueue("up", {"text": "right"})
run("${provider}", "provider:py")
print(own.wait(receipt["task_id"]))`,
      server.url,
    )
    expect(out.split('\n').slice(0, -1)).toEqual([
      'Unauthorized',
      'Unauthorized',
      'Unauthorized',
      'Forbidden',
      'RIGHT',
    ])
  })
})

/** Another server on the files and the port of one that has ended. */
async function serveAgain({ url }: CliServer): Promise<CliServer> {
  const args = ['serve', '--port', new URL(url).port, '--log-level', 'silent']
  const again = new CliProcess(args, { cwd: folder })
  await again.says(/serves/)
  const stop = () => {
    again.kill('SIGTERM')
    return again.ended
  }
  return { url, process: again, stop }
}

/** A line to a port that cuts its first connection when the answer comes. */
async function cutFirstAnswer(port: number): Promise<Server> {
  let isFirst = true
  const line = createServer((socket) => {
    const onward = connectSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    onward.on('error', () => {})
    socket.pipe(onward)
    if (!isFirst) {
      onward.pipe(socket)
      return
    }
    isFirst = false
    onward.once('data', () => {
      socket.destroy()
      onward.destroy()
    })
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  return line
}
