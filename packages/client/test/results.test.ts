import { toHex } from '@fairlead/core'
import { sha3 } from '@fairlead/core/internal'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Completion, type StandardSchema } from '../src/index.ts'
import { readResultOf } from '../src/read-result.ts'
import { Rig } from './rig.ts'
import { ServerRig } from './server-rig.ts'

describe('the value that a handler returns', () => {
  let server: ServerRig
  let next: () => unknown
  beforeAll(async () => {
    server = await ServerRig.open()
    server.worker(() => next())
  })
  afterAll(() => server.close())

  async function roundTrip(returned: () => unknown) {
    next = returned
    return server.client.waitForResult(await server.enqueue(1))
  }

  it.each<[unknown, string | null]>([
    ['done', 'text/plain'],
    ['', 'text/plain'],
    ['\u{feff}grüß dich', 'text/plain'],
    [Uint8Array.of(0, 255, 10), 'application/octet-stream'],
    [new Uint8Array(), 'application/octet-stream'],
    [undefined, null],
    [null, 'application/json'],
    [true, 'application/json'],
    [42.5, 'application/json'],
    [[1, 'two', null], 'application/json'],
    [{ answer: 42 }, 'application/json'],
    [{ output: 'done' }, 'application/json'],
    [{ digest: 'x', meta: { a: 1 }, actualUnits: 2 }, 'application/json'],
    [Object.fromEntries([['then', 1]]), 'application/json'],
    [{ nested: [{ deep: 'ü' }] }, 'application/json'],
  ])('RESULT-1: %o comes back as it is, with its content type %s', async (value, type) => {
    for (const returned of [() => value, async () => value, () => new Completion({ value })]) {
      const read = await roundTrip(returned)
      expect(read.value).toEqual(value)
      expect(read.record.content_type).toBe(type)
    }
  })

  it('RESULT-1: bytes come back as bytes, also if they were a Buffer', async () => {
    const { value, output } = await roundTrip(() => Buffer.from('bytes'))
    expect(value).toEqual(Uint8Array.from(Buffer.from('bytes')))
    expect(output).toEqual(value)
  })

  it('RESULT-1: nothing returned is no output at all', async () => {
    const { value, output, text, record } = await roundTrip(() => undefined)
    expect({ value, output, text }).toEqual({ value: undefined, output: null, text: '' })
    expect(record).toMatchObject({ output: null, content_type: null })
  })

  it('RESULT-1: dates and undefined are written as JSON writes them', async () => {
    const at = new Date(0)
    const { value } = await roundTrip(() => ({ at, nothing: undefined, list: [undefined] }))
    expect(value).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] })
  })

  it('RESULT-2: a Completion says more than the output', async () => {
    const { value, record } = await roundTrip(
      () =>
        new Completion({
          value: { rows: 3 },
          contentType: 'application/vnd.rows+json',
          meta: { took: 3 },
          actualUnits: 7,
        }),
    )
    expect(value).toEqual({ rows: 3 })
    expect(record).toMatchObject({
      content_type: 'application/vnd.rows+json',
      meta: { took: 3 },
      units: 7,
    })
  })

  it('RESULT-2: a Completion may have only the digest of an output that is kept elsewhere', async () => {
    const digest = toHex(sha3(Buffer.from('elsewhere')))
    const { value, output, record } = await roundTrip(() => new Completion({ digest }))
    expect({ value, output }).toEqual({ value: undefined, output: null })
    expect(record.output_digest).toBe(digest)
  })

  it('RESULT-4: with a schema on both sides any value is JSON, text too', async () => {
    const anything: StandardSchema<unknown> = {
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
    }
    const own = await ServerRig.open()
    const worker = own.client.worker({
      providerId: 'provider:texts',
      kinds: ['task'],
      concurrency: 1,
      drainMs: null,
      result: anything,
      handler: () => 'text',
    })
    const taskId = await own.enqueue(1)
    const read = await own.client.waitForResult(taskId, { schema: anything })
    expect(read.value).toBe('text')
    expect(read.record.content_type).toBe('application/json')
    expect((await own.client.readResult(taskId)).value).toBe('text')
    await worker.stop()
    await own.close()
  })
})

describe('a result that is read', () => {
  const record = { task_id: '0x00', output: toHex(Buffer.from('{"a":1}')) }
  const read = async (given: object) => {
    const all = { ...record, ...given } as unknown as Parameters<typeof readResultOf>[0]
    return (await readResultOf(all, undefined)).value
  }

  it.each([
    ['application/json; charset=utf-8', { a: 1 }],
    ['Application/JSON', { a: 1 }],
    ['text/csv; charset=utf-8', '{"a":1}'],
    ['image/png', Uint8Array.from(Buffer.from('{"a":1}'))],
    [null, Uint8Array.from(Buffer.from('{"a":1}'))],
  ])('RESULT-4: is a value by its content type: %s', async (content_type, value) => {
    expect(await read({ content_type })).toEqual(value)
  })

  it('RESULT-4: that is not the JSON it should be is given as bytes', async () => {
    const output = toHex(Buffer.from('{"a":'))
    expect(await read({ content_type: 'application/json', output })).toEqual(
      Uint8Array.from(Buffer.from('{"a":')),
    )
  })
})

describe('a value that cannot be written as JSON', () => {
  let rig: Rig
  beforeEach(async () => {
    rig = await Rig.open()
  })

  const cycle: Record<string, unknown> = { name: 'x' }
  cycle['self'] = { again: [cycle] }

  it.each<[string, unknown, string]>([
    ['a bigint', { items: [1, { id: 1n }] }, 'result.items[1].id: expected'],
    ['a bigint alone', 1n, 'result: expected a value that can be written as JSON, got a bigint'],
    ['a function', { a: { run: () => 1 } }, 'result.a.run: expected'],
    ['a symbol', { 'odd key': Symbol('s') }, 'result["odd key"]: expected'],
    ['NaN', [0, Number.NaN], 'result[1]: expected a value that can be written as JSON, got NaN'],
    ['Infinity', { n: Number.POSITIVE_INFINITY }, 'got Infinity'],
    ['a cycle', cycle, 'result.self.again[0]: expected'],
    ['a Map', { m: new Map([[1, 2]]) }, 'result.m: expected'],
    ['a Set', { s: new Set([1]) }, 'got a Set; return an array'],
    ['nested numbers', { output: Int8Array.of(1), meta: {} }, 'got an Int8Array'],
    ['nested bytes', { output: Uint8Array.of(1), meta: {} }, 'result.output: expected'],
    ['a nested Buffer', [Buffer.from('x')], 'got a Buffer'],
    ['a typed array', new Float64Array(2), 'result: expected'],
    ['a promise', { later: Promise.resolve(1) }, 'got a Promise; await it'],
    ['text with half a surrogate pair', 'a\ud800b', 'half a surrogate pair'],
    [
      'a getter that throws',
      {
        get broken() {
          throw new Error('no')
        },
      },
      'Error: no',
    ],
  ])(
    'RESULT-3: %s fails the job for good, and the message says where it is',
    async (_, value, text) => {
      await rig.worker(() => value)
      const jobId = await rig.enqueue()
      expect(await rig.engine.getJob(jobId)).toMatchObject({
        status: 'FAILED',
        reason: 'permanent_error',
        retries: 1,
      })
      const [failure] = await rig.engine.view.read.failures(jobId)
      expect(failure).toMatchObject({ code: 'output_not_serializable' })
      expect(failure?.message).toContain(text)
    },
  )

  it('RESULT-3: the same object twice is no cycle', async () => {
    const shared = { n: 1 }
    await rig.worker(() => ({ a: shared, b: [shared, shared] }))
    expect(await rig.output(await rig.enqueue())).toBe('{"a":{"n":1},"b":[{"n":1},{"n":1}]}')
  })

  it('RESULT-3: a value that is nested too deeply fails its job alone', async () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    const values: unknown[] = [deep, 'fine']
    await rig.worker(() => values.shift())
    const [first, second] = [await rig.enqueue(), await rig.enqueue()]
    expect([await rig.status(first), await rig.status(second)]).toEqual(['FAILED', 'COMPLETED'])
  })
})
