import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient } from '@fairlead/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CliProcess, type CliServer, serve } from './cli-process.ts'

let folder: string
let server: CliServer
let client: NodeClient
const workers: CliProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-exec-'))
  server = await serve(folder)
  client = connect(server.url)
})

afterAll(async () => {
  for (const worker of workers) {
    worker.kill('SIGTERM')
    await worker.ended
  }
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A worker that runs a shell command for tasks of a name, and its job. */
async function begin(name: string, exec: string): Promise<{ worker: CliProcess; taskId: string }> {
  const args = ['--provider', `provider:${name}`, '--model', name, '--url', server.url]
  const worker = new CliProcess(['worker', '--exec', exec, ...args])
  workers.push(worker)
  await worker.says(/is served by/)
  const { task_id } = await client.enqueue({ kind: 'task', payload: { name, args: {} } })
  return { worker, taskId: task_id }
}

async function failed(name: string, exec: string) {
  const { worker, taskId } = await begin(name, exec)
  await worker.says(/failed \(.+\) after/)
  for await (const event of client.events({ afterSeq: 0 })) {
    if ('jobId' in event && event.jobId !== taskId) continue
    if (event.type === 'jobRequeued' || event.type === 'jobFailed') break
  }
  const { job } = await client.getJob(taskId)
  return { worker, job, details: job.errors[0]?.details, ...job.last_error }
}

describe('a program that fails', () => {
  it('FAIL-1: has the last lines of its standard error as the message, and they are still shown', async () => {
    const exec =
      'i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo "line $i of many" >&2; done; echo the end >&2; exit 7'
    const { code, message = '', details, worker } = await failed('chatty', exec)
    expect({ code, details }).toEqual({ code: 'exit', details: { exit_code: 7 } })
    expect(message).toMatch(/^line \d+ of many\n/)
    expect(message).toMatch(/line 1000 of many\nthe end$/)
    expect(Buffer.byteLength(message ?? '')).toBeLessThanOrEqual(4_096)
    expect(Buffer.byteLength(message ?? '')).toBeGreaterThan(4_000)
    await worker.says(/line 1 of many[\s\S]*the end/)
  })

  it('FAIL-1: without a word has its exit code as the message', async () => {
    const { code, message, details } = await failed('silent', 'exit 3')
    expect({ code, message, details }).toEqual({
      code: 'exit',
      message: 'the program failed: exit code 3',
      details: { exit_code: 3 },
    })
  })

  it('FAIL-1: by a signal says which', async () => {
    const { code, message, details } = await failed('killed', 'echo so long >&2; kill -9 $$')
    expect({ code, message, details }).toEqual({
      code: 'exit',
      message: 'so long',
      details: { signal: 'SIGKILL' },
    })
  })

  it('FAIL-1: with exit code 65 ends the job, with 75 it is tried again', async () => {
    const wrong = await failed('wrong', 'echo the width is negative >&2; exit 65')
    expect(wrong).toMatchObject({ code: 'invalid_input', message: 'the width is negative' })
    expect(wrong.job).toMatchObject({ status: 'FAILED', reason: 'permanent_error' })
    const later = await failed('later', 'exit 75')
    expect(later).toMatchObject({ code: 'temporary', details: { exit_code: 75 } })
    expect(later.job.status).toBe('QUEUED')
  })
})

describe('a program that is done', () => {
  it.each([
    ['text', 'echo; printf "two lines"', '\ntwo lines', 'text/plain'],
    ['empty', 'true', '', 'text/plain'],
    ['bytes', "printf '\\377\\000'", Uint8Array.of(255, 0), 'application/octet-stream'],
  ])('RESULT-1: gives its standard output as the value: %s', async (name, exec, value, type) => {
    const { taskId } = await begin(name, exec)
    const read = await client.waitForResult(taskId)
    expect(read.value).toEqual(value)
    expect(read.record.content_type).toBe(type)
  })

  it('RESULT-1: is done though another that it started keeps standard error open', async () => {
    const { taskId } = await begin('leaves', 'sleep 300 > /dev/null & echo started')
    const { value } = await client.waitForResult(taskId)
    expect(value).toBe('started\n')
  })
})

it('WORKER-15: the worker says why its provider gets no work, and when that is over', async () => {
  const { worker, taskId } = await begin('noticed', 'echo x')
  await client.waitForResult(taskId)
  const set = (status: 'SUSPENDED' | 'ACTIVE') =>
    client.call('aicf.setProviderStatus', { provider_id: 'provider:noticed', status })
  await set('SUSPENDED')
  await worker.says(/it is SUSPENDED/)
  await set('ACTIVE')
  await worker.says(/in service again/)
  worker.kill('SIGTERM')
  const told = (await worker.ended).err.split('\n').filter((line) => line.includes('noticed'))
  expect(told.slice(-2)).toEqual([
    expect.stringMatching(
      /^fairlead: provider:noticed gets no work: it is SUSPENDED\..* set-status/,
    ),
    expect.stringMatching(/^fairlead: provider:noticed is in service again/),
  ])
})
