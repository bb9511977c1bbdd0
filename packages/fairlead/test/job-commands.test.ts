import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'

let folder: string
let server: CliServer
const workers: CliProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-jobs-'))
  // A failed attempt is tried again at once; the third ends the job.
  const retries = ['attempt_max=3', 'base_backoff_task_secs=1', 'backoff_cap_secs=1']
  const sets = retries.flatMap((set) => ['--set', `queue.retries.${set}`])
  server = await serve(folder, ...sets)
})
afterAll(async () => {
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

async function enqueued(...args: string[]): Promise<string> {
  const { code, out, err } = await run('enqueue', ...args)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out.trim()
}

/** A worker that runs a shell command for the tasks of one name. */
async function worker(name: string, exec: string): Promise<void> {
  const own = ['--provider', `provider:${name}`, '--model', name, '--url', server.url]
  const process = new CliProcess(['worker', '--exec', exec, ...own])
  workers.push(process)
  await process.says(/is served by/)
}

function file(name: string, lines: readonly (string | object)[]): string {
  const path = join(folder, name)
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(path, `${text.join('\n')}\n`)
  return path
}

const task = (name: string, rest: object = {}) => ({
  kind: 'task',
  payload: { name, args: {} },
  ...rest,
})

describe('fairlead jobs list and watch', () => {
  it('shows name and short id in 100 columns, and lists by name', async () => {
    const long = `a-task-${'long-'.repeat(20)}name`
    const email = await enqueued('task', 'email')
    await enqueued('task', long)
    await enqueued('ai', 'some-model-of-70b', 'hello')
    const all = await run('jobs', 'list')
    const lines = all.out.trimEnd().split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
    expect(all.out).toMatch(new RegExp(`^${email.slice(0, 12)} {2}email +task +QUEUED`, 'm'))
    expect(all.out).toMatch(/^0x[0-9a-f]{10} {2}a-task-long-\S*… +task/m)
    expect(all.out).toMatch(/some-model-of-70b +ai/)
    const named = await run('jobs', 'list', '--name', 'email', '--json')
    expect(JSON.parse(named.out)).toMatchObject([{ task_id: email, name: 'email' }])
    expect((await run('jobs', 'list', '--name', 'nothing')).out).toBe('There are none.\n')
    const first = ['jobs', 'list', '--limit', '1']
    expect((await run(...first)).err).toBe('The first 1; see --limit.\n')
    const { err } = await run(...first, '--json')
    expect(JSON.parse(err)).toEqual({ warning: 'The first 1; see --limit.' })
  })

  it('watches the jobs of one name, and shows name and short id of each', async () => {
    const watching = new CliProcess(
      ['jobs', 'watch', '--after', '0', '--name', 'watched-one'].concat('--url', server.url),
    )
    await enqueued('task', 'watched-other')
    const one = await enqueued('task', 'watched-one')
    await watching.says(new RegExp(`jobEnqueued {2}${one.slice(0, 12)} {2}watched-one`))
    watching.kill('SIGINT')
    const { code, out } = await watching.ended
    expect({ code, lines: out.trim().split('\n').length }).toEqual({ code: 0, lines: 1 })
  })

  it.each([
    ['--status', 'DONE', 'expected one of QUEUED, ASSIGNED, RUNNING, COMPLETED, FAILED'],
    ['--kind', 'dance', 'expected one of ai, quantum, task, registration'],
  ])('names the right values of %s', async (flag, value, message) => {
    const { code, err } = await run('jobs', 'list', flag, value)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })
})

describe('the first digits of a task_id', () => {
  it('stand for the job in every command, with or without 0x', async () => {
    const id = await enqueued('task', 'prefixed')
    for (const typed of [id.slice(0, 10), id.slice(2, 10), id.slice(0, 12).toUpperCase()]) {
      // `0X` is as good as `0x`.
      expect((await run('jobs', 'show', typed)).out).toContain(`${id}\nkind`)
    }
    const short = id.slice(0, 12)
    expect((await run('explain', short)).out).toContain('prefixed')
    expect((await run('jobs', 'cancel', short)).out).toContain(`${id} is CANCELED`)
    const watched = await run('jobs', 'watch', short)
    expect(watched).toMatchObject({ code: 1 })
    expect(watched.out).toContain('jobCanceled')
    const again = (await run('jobs', 'retry', short)).out.trim()
    const { out } = await run('jobs', 'show', again.slice(0, 12), '--json')
    expect(JSON.parse(out).job.request.retry_of).toBe(id)
  })

  it('stand for a registration as well', async () => {
    const place = ['swim', 'org-1', 'event-1', 'user-1', '--opens', '1h']
    const { out } = await run('registrations', 'schedule', ...place, '--json')
    const { task_id, reference } = JSON.parse(out) as { task_id: string; reference: string }
    const short = task_id.slice(0, 12)
    expect((await run('registrations', 'show', short)).out).toContain(reference)
    expect((await run('registrations', 'cancel', short)).out).toBe(`${reference} is CANCELED.\n`)
    expect((await run('jobs', 'list', '--name', 'swim')).out).toContain(short)
  })

  it('are refused where they stand for none or several, or are too few', async () => {
    // Two transactions whose jobs have the first 8 digits in common.
    const chain = { caller: `0x${'11'.repeat(32)}`, enqueue_block: 7 }
    const twins = [31_523, 122_702].map((n) =>
      task('twin', { ...chain, tx_hash: `0x${n.toString(16).padStart(64, '0')}` }),
    )
    const ids = (await enqueued('--from', file('twins.jsonl', twins))).split('\n')
    expect(ids.map((id) => id.slice(0, 10))).toEqual(['0xc36a8aae', '0xc36a8aae'])
    const several = await run('jobs', 'cancel', 'c36a8aae')
    expect(several).toMatchObject({ code: 2, out: '' })
    expect(several.err).toContain('0xc36a8aae stands for several jobs; write more of its digits')
    for (const id of ids) expect(several.err).toContain(`${id}  twin  QUEUED`)
    expect((await run('jobs', 'show', (ids[0] as string).slice(0, 14))).code).toBe(0)
    const none = await run('jobs', 'show', '0xffffffff')
    expect(none).toMatchObject({ code: 3, out: '' })
    expect(none.err).toContain('no job begins with 0xffffffff; fairlead jobs list shows')
    const few = await run('explain', '0xc36a8aa')
    expect(few.code).toBe(2)
    expect(few.err).toContain('task_id: expected 0x and 64 hex digits, or the first 8 or more')
  })
})

describe('errors of attempts', () => {
  it('jobs show has the last error and the earlier ones, their messages on lines of their own', async () => {
    await worker('failing', 'echo "no such file" >&2; echo "attempt $FAIRLEAD_ATTEMPT" >&2; exit 7')
    const failed = await run('enqueue', 'task', 'failing', '--wait')
    expect(failed).toMatchObject({ code: 1, out: '' })
    expect(failed.err).toMatch(
      /is FAILED \(retries_exhausted\) and has no result\nexit: no such file\n {4}attempt 2\n$/,
    )
    const [, id = ''] = /job (0x[0-9a-f]+) is/.exec(failed.err) ?? []
    const { out } = await run('jobs', 'show', id)
    expect(out).toMatch(
      /^Last error\n {2}attempt 2 {2}\S+ {2}exit\n {4}no such file\n {4}attempt 2$/m,
    )
    expect(out).toMatch(
      /^Earlier errors\n {2}attempt 0 [\s\S]*^ {4}attempt 0\n[\s\S]* {2}attempt 1 /m,
    )
    const { job } = JSON.parse((await run('jobs', 'show', id, '--json')).out)
    expect(job.last_error).toMatchObject({ code: 'exit', attempt: 2 })
    expect(job.errors.map(({ attempt }: { attempt: number }) => attempt)).toEqual([0, 1, 2])
  })

  it('TERMINAL-1: text of a job cannot move the cursor or set a colour', async () => {
    await worker('colour', `printf 'red \\033[31malert\\r\\n' >&2; exit 65`)
    const { err } = await run('enqueue', 'task', 'colour', '--wait')
    expect(err).toContain('red \\x1b[31malert')
    expect(err).not.toContain('\u001b')
  })
})

describe('fairlead enqueue --wait', () => {
  it('ends with 1 if the job expired or was cancelled, and says so', async () => {
    const expired = await run('enqueue', 'task', 'nobody', '--ttl', '1s', '--wait', '--json')
    expect(expired).toMatchObject({ code: 1, out: '' })
    expect(JSON.parse(expired.err)).toMatchObject({
      error: { code: 'JobExpired', details: { status: 'EXPIRED', last_error: null } },
    })
    const waiting = new CliProcess(['enqueue', 'task', 'waited', '--wait', '--url', server.url])
    const watching = new CliProcess(
      ['jobs', 'watch', '--after', '0', '--name', 'waited'].concat('--url', server.url),
    )
    const [, id = ''] = await watching.says(/jobEnqueued {2}(0x\w+) {2}waited/)
    watching.kill('SIGINT')
    await watching.ended
    await run('jobs', 'cancel', id)
    const { code, err } = await waiting.ended
    expect(code).toBe(1)
    expect(err).toContain('is CANCELED and has no result')
  })

  it('prints text and JSON as they are, and other bytes unchanged into a pipe', async () => {
    await worker('text', 'cat >/dev/null; printf "two\\nlines"')
    expect((await run('enqueue', 'task', 'text', '--wait')).out).toBe('two\nlines\n')
    await worker('json', `cat >/dev/null; echo '{"a": [1]}'`)
    expect((await run('enqueue', 'task', 'json', '--wait')).out).toBe('{"a": [1]}\n')
    await worker('bytes', `cat >/dev/null; printf '\\377\\000\\001'`)
    const { out } = await run('enqueue', 'task', 'bytes', '--wait')
    // The test reads it as UTF-8: one byte cannot be read so, and nothing was added.
    expect(out).toBe('\ufffd\u0000\u0001')
  })
})

describe('fairlead enqueue --from', () => {
  it('names every wrong line with its reason, and enqueues nothing', async () => {
    const path = file('wrong.jsonl', [
      task('unsent'),
      'nonsense',
      '',
      { kind: 'task', payload: { nam: 'unsent', args: {} } },
      { kind: 'dance', payload: {} },
      task('unsent', { colour: 'red' }),
      { kind: 'ai', payload: { model: 'm', prompt: '0x00', max_tokens: 'many' } },
    ])
    const { code, out, err } = await run('enqueue', '--from', path)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(`--from: 5 of 6 lines of ${path} are wrong; nothing was enqueued`)
    expect(err).toMatch(/^line 2: request: expected a JSON object/m)
    expect(err).toMatch(/^line 4: name: expected/m)
    expect(err).toMatch(/^line 5: kind: expected one of/m)
    expect(err).toMatch(/^line 6: colour: there is no such field; expected only .*payload/m)
    expect(err).toMatch(/^line 7: max_tokens: expected a whole number/m)
    expect((await run('jobs', 'list', '--name', 'unsent')).out).toBe('There are none.\n')
  })

  it('says which lines the server refused and how many were enqueued', async () => {
    const path = file('partly.jsonl', [
      task('partly', { idempotency_key: 'partly-1' }),
      task('another', { idempotency_key: 'partly-1' }),
      task('partly'),
    ])
    const { code, out, err } = await run('enqueue', '--from', path)
    expect(code).toBe(1)
    expect(out.trim().split('\n')).toHaveLength(2)
    expect(err).toMatch(
      /^fairlead: 2 of 3 jobs were enqueued, 1 refused\nline 2: idempotency_key: /,
    )
    const found = JSON.parse((await run('jobs', 'list', '--name', 'partly', '--json')).out)
    expect(found).toHaveLength(2)
    const again = await run('enqueue', '--from', path, '--json')
    expect(JSON.parse(again.err)).toMatchObject({
      error: {
        code: 'IdempotencyConflict',
        details: { enqueued: 2, refused: [{ line: 2, code: 'IdempotencyConflict' }], not_sent: 0 },
      },
    })
  })

  it('refuses flags of single jobs, and says once that no server answers', async () => {
    const path = file('fine.jsonl', [task('fine'), task('fine')])
    const flagged = await run('enqueue', '--from', path, '--ttl', '5m')
    expect(flagged.code).toBe(2)
    expect(flagged.err).toContain('--ttl: expected no --from with it')
    const nowhere = await fairlead(['enqueue', '--from', path, '--url', 'http://127.0.0.1:1'])
    expect(nowhere.code).toBe(4)
    expect(nowhere.err.match(/no server answers/g)).toHaveLength(1)
  })
})

describe('options of a job on the command line', () => {
  it('are taken, shown and found', async () => {
    const first = await enqueued('task', 'first')
    const flags = [
      '--delay',
      '1h',
      '--attempts',
      '4',
      '--backoff',
      '2s,1.5,1m,0%',
      '--timeout',
      '30s',
    ]
    const more = ['--priority=-3', '--tag', 'nightly', '--tag', 'team:a', '--dedupe-key', 'd-1']
    const after = ['--after', first.slice(0, 12), '--if-dependency-fails', 'run']
    const id = await enqueued('task', 'report', ...flags, ...more, ...after)
    const { job } = JSON.parse((await run('jobs', 'show', id, '--json')).out)
    expect(job.request.options).toMatchObject({
      attempts: 4,
      backoff: { base_ms: 2_000, factor_permille: 1_500, cap_ms: 60_000, jitter_permille: 0 },
      timeout_ms: 30_000,
      priority: -3,
      tags: ['nightly', 'team:a'],
      dedupe_key: 'd-1',
      depends_on: [first],
      on_dependency: 'run',
    })
    const shown = await run('jobs', 'show', id)
    expect(shown.out).toMatch(/^waits +scheduled$/m)
    expect(shown.out).toMatch(/^tags +nightly, team:a$/m)
    expect((await run('explain', id)).out).toContain('It is scheduled: not before')
    const filters = [
      ['--tag', 'nightly'],
      ['--dedupe-key', 'd-1'],
      ['--wait-reason', 'scheduled', '--name', 'report'],
      ['--since', '1h', '--name', 'report'],
    ]
    for (const filter of filters) {
      const { out } = await run('jobs', 'list', ...filter, '--json')
      expect(JSON.parse(out).map((one: { task_id: string }) => one.task_id)).toEqual([id])
    }
    expect(await enqueued('task', 'report', '--dedupe-key', 'd-1')).toBe(id)
  })

  it('are refused by the name of their flag', async () => {
    expect((await run('enqueue', 'task', 'x', '--backoff', 'soon')).err).toContain(
      '--backoff: expected',
    )
    expect((await run('enqueue', 'task', 'x', '--attempts', '0')).err).toContain(
      '--attempts: expected',
    )
    const path = file('options.jsonl', [task('x')])
    expect((await run('enqueue', '--from', path, '--tag', 'a')).err).toContain('--tag: expected')
  })
})
