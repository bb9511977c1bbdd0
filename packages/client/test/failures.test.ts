import { decodeCbor, encodeCbor, type FailureRow } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AttemptFailure, Completion, PermanentFailure, RetryAfter } from '../src/index.ts'
import { failureOf } from '../src/worker/failure.ts'
import { Rig } from './rig.ts'
import { ServerRig } from './server-rig.ts'

/** Errors that handlers throw, and the part of each that is kept. */
const THROWN: [string, unknown, Partial<FailureRow>, string][] = [
  ['an Error', new Error('no such file'), { code: 'error', message: 'no such file' }, 'QUEUED'],
  [
    'an Error with a code',
    Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' }),
    { code: 'econnrefused', message: 'connect refused' },
    'QUEUED',
  ],
  [
    'a code that is no text',
    Object.assign(new Error('odd'), { code: 7 }),
    { code: 'error', message: 'odd' },
    'QUEUED',
  ],
  [
    'a PermanentFailure',
    new PermanentFailure('invalid_input', 'the width is negative'),
    { code: 'invalid_input', message: 'the width is negative' },
    'FAILED',
  ],
  [
    'an AttemptFailure',
    new AttemptFailure({ code: 'exit', permanent: true, message: 'segfault' }),
    { code: 'exit', message: 'segfault', details: null },
    'FAILED',
  ],
  ['text', 'just words', { code: 'error', message: 'just words', details: null }, 'QUEUED'],
  ['nothing', undefined, { code: 'error', message: 'undefined' }, 'QUEUED'],
  [
    'an object',
    { code: 'E1', message: 'like an error' },
    { code: 'e1', message: 'like an error' },
    'QUEUED',
  ],
  ['a bare object', { why: 'because' }, { code: 'error', message: "{ why: 'because' }" }, 'QUEUED'],
  [
    'errors without a message of their own',
    new AggregateError([new Error('one'), new Error('two')]),
    { code: 'error', message: 'one; two' },
    'QUEUED',
  ],
]

describe('a failure of a handler in this process', () => {
  let rig: Rig
  beforeEach(async () => {
    rig = await Rig.open()
  })

  it.each(THROWN)('FAIL-1: %s is kept as a code and a message', async (_, thrown, kept, status) => {
    await rig.worker(() => {
      throw thrown
    })
    const jobId = await rig.enqueue()
    expect(await rig.status(jobId)).toBe(status)
    expect(await rig.engine.view.read.failures(jobId)).toMatchObject([{ attempt: 0, ...kept }])
  })

  it('FAIL-1: the details of an error are its name, its stack and its cause', async () => {
    class OutOfLuck extends Error {
      override readonly name = 'OutOfLuck'
    }
    await rig.worker(async () => {
      throw new OutOfLuck('not my day', { cause: new Error('rain') })
    })
    const [failure] = await rig.engine.view.read.failures(await rig.enqueue())
    const details = decodeCbor(failure?.details ?? new Uint8Array()) as Record<string, string>
    expect(details).toMatchObject({ name: 'OutOfLuck', cause: 'rain' })
    expect(details['stack']).toMatch(/not my day\n\s+at .*failures\.test\.ts/)
  })

  it('FAIL-2: a long stack, code or message is kept in part, and nothing is refused', async () => {
    const error = Object.assign(new Error(`${'ä'.repeat(50_000)}\ud800`), {
      code: 'A b'.repeat(100),
      stack: '€'.repeat(100_000),
    })
    await rig.worker(() => {
      throw error
    })
    const [failure] = await rig.engine.view.read.failures(await rig.enqueue())
    expect(failure?.code).toMatch(/^[a_b]{64}$/)
    expect(Buffer.byteLength(failure?.message ?? '')).toBeGreaterThan(4_000)
    const details = decodeCbor(failure?.details ?? new Uint8Array()) as Record<string, string>
    expect(details['stack']).toMatch(/^€{1000,}$/)
    expect(rig.errors).toEqual([error])
  })

  it('FAIL-4: an error may say when to try again', async () => {
    const thrown = [
      new RetryAfter(600_000, 'quota used up', { code: 'rate_limited' }),
      Object.assign(new Error('later'), { retryAfterMs: 900_000 }),
      Object.assign(new Error('odd'), { retryAfterMs: -1 }),
      Object.assign(new Error('odd'), { retryAfterMs: 0.5 }),
    ]
    await rig.worker(() => {
      throw thrown.shift()
    })
    const waits: number[] = []
    for (let i = 0; i < 4; i++) {
      const { notBefore } = await rig.engine.getJob(await rig.enqueue())
      waits.push((notBefore ?? 0) - rig.clock.now())
    }
    expect(waits.slice(0, 2)).toEqual([600_000, 900_000])
    for (const wait of waits.slice(2)) expect(wait).toBeLessThan(10_000)
  })

  it('FAIL-1: the failure of a refused result has the message of the refusal', async () => {
    await rig.engine.setPolicy({ queue: { completion: { output_max_bytes: 2 } } })
    await rig.worker(() => 'three')
    const [failure] = await rig.engine.view.read.failures(await rig.enqueue())
    expect(failure).toMatchObject({ code: 'invalid_result' })
    expect(failure?.message).toMatch(/output.*2/)
  })

  it('FAIL-1: words about a result that have no encoding fail it as an invalid result', async () => {
    await rig.worker(() => new Completion({ value: 1, meta: { lone: '\ud800' } }))
    const [failure] = await rig.engine.view.read.failures(await rig.enqueue())
    expect(failure).toMatchObject({ code: 'invalid_result' })
    expect(failure?.message).toMatch(/^meta: expected/)
  })

  it('FAIL-1: an error whose fields cannot be read is still a failure', async () => {
    await rig.worker(() => {
      throw {
        get code() {
          throw new Error('no')
        },
      }
    })
    const jobId = await rig.enqueue()
    expect(await rig.engine.view.read.failures(jobId)).toMatchObject([{ code: 'error' }])
  })
})

it('FAIL-5: a worker says no more of the failure of a registration than a code', () => {
  const error = Object.assign(new Error('Mrs. Smith is banned'), { code: 'ban' })
  expect(failureOf(error, 'registration')).toEqual({ code: 'ban', permanent: false })
  const spoken = Object.assign(new Error('x'), { code: 'Mrs. Smith is banned' })
  expect(failureOf(spoken, 'registration')).toEqual({ code: 'error', permanent: false })
  const details = encodeCbor({ name: 'Smith' })
  const failure = { code: 'sold_out', permanent: true, message: 'Smith', details, http: 409 }
  expect(failureOf(new AttemptFailure(failure), 'registration')).toEqual({
    code: 'sold_out',
    permanent: true,
    http: 409,
  })
})

describe('a failure over the wire', () => {
  let rig: ServerRig
  beforeEach(async () => {
    rig = await ServerRig.open()
  })
  afterEach(() => rig.close())

  it('FAIL-1: is shown to the requester with code, message and details', async () => {
    rig.worker(
      () => {
        throw new PermanentFailure('invalid_input', 'the width is negative')
      },
      { onError: () => {} },
    )
    const taskId = await rig.enqueue(1)
    await rig.happened('jobFailed', taskId)
    const { job } = await rig.client.getJob(taskId)
    expect(job).toMatchObject({
      status: 'FAILED',
      reason: 'permanent_error',
      last_error: { code: 'invalid_input', message: 'the width is negative', attempt: 0 },
      errors: [
        {
          attempt: 0,
          details: { name: 'PermanentFailure', stack: expect.stringContaining('failures.test.ts') },
        },
      ],
    })
  })

  it('FAIL-4: asks for a later attempt over the wire, too', async () => {
    rig.worker(
      () => {
        throw new RetryAfter(3_600_000)
      },
      { onError: () => {} },
    )
    const taskId = await rig.enqueue(1)
    const before = Date.now()
    await rig.happened('jobRequeued', taskId)
    const { job } = await rig.client.getJob(taskId)
    expect(job.not_before).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(job.last_error).toMatchObject({
      code: 'retry_after',
      message: 'try again in 3600000 ms',
    })
  })

  it('FAIL-1: a result that is too long to be sent says so', async () => {
    rig.worker(() => 'x'.repeat(1_200_000), { onError: () => {} })
    const taskId = await rig.enqueue(1)
    await rig.happened('jobRequeued', taskId)
    const { last_error } = (await rig.client.getJob(taskId)).job
    expect(last_error).toMatchObject({ code: 'invalid_result' })
    expect(last_error?.message).toMatch(/^aicf.completeLease: a call of more than/)
  })
})
