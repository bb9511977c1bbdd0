import { createHash } from 'node:crypto'
import { encode as cbor2Encode, encodedNumber } from 'cbor2'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CborFloat, type CborMap, decodeCbor } from '../encoding/cbor.ts'
import { FairleadError } from '../errors.ts'
import { parsePolicy } from '../policy/policy.ts'
import { KIND_NAMES, type KindName, quantumDemand } from './kinds.ts'
import { acceptRequest } from './request.ts'

type Json = Record<string, unknown>

const policy = parsePolicy({}, 'fund')
const CALLER = `0x${'ca'.repeat(32)}`
const TX_HASH = `0x${'7a'.repeat(32)}`

const PAYLOADS: Readonly<Record<KindName, Json>> = {
  ai: {
    model: 'llama3-8b',
    prompt: '0x48656c6c6f',
    max_tokens: 256,
    temperature: 0.7,
    qos_hint_ms: 500,
  },
  quantum: { circuit: '0x4f50454e', shots: 1_000, depth_hint: 16 },
  task: { name: 'resize-image', args: { width: 640, scale: 0.5, tags: ['a', null, true] } },
  registration: {
    provider: 'bookeo',
    org_ref: 'org-1',
    event_id: 'evt-42',
    user_id: 'user-7',
    args: { seats: 2, notes: { diet: 'none' } },
    scheduled_time: 1_760_000_400_000,
  },
}

const request = (kind: KindName, payload: Json = {}, around: Json = {}): Json => ({
  kind,
  caller: CALLER,
  chain_id: 1,
  enqueue_block_height: 100,
  tx_hash: TX_HASH,
  payload: { ...PAYLOADS[kind], ...payload },
  ...around,
})

const accept = (written: unknown, under = policy) => acceptRequest(written, under)
const idOf = (written: unknown): string => accept(written).jobId
const cborOf = (written: unknown): string =>
  Buffer.from(accept(written).payloadCbor).toString('hex')

/** The refusal of a request; anything but a `FairleadError` is a crash. */
function refusal(written: unknown, under = policy): FairleadError {
  try {
    acceptRequest(written, under)
  } catch (error) {
    if (error instanceof FairleadError) return error
    throw error
  }
  throw new Error('the request was accepted')
}

function expectInvalid(written: unknown, field: string, under = policy): void {
  const error = refusal(written, under)
  expect({ code: error.code, field: error.details['field'] }).toEqual({
    code: 'InvalidParams',
    field,
  })
  expect(error.message.startsWith(`${field}: `)).toBe(true)
}

function expectOverCap(
  written: unknown,
  limit: string,
  max: number,
  observed: number,
  under = policy,
): void {
  const error = refusal(written, under)
  expect({ code: error.code, details: error.details }).toEqual({
    code: 'LimitExceeded',
    details: { limit, max, observed },
  })
  expect(error.message.startsWith(`${limit}: `)).toBe(true)
}

function without(object: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** Keys in another order, in nested objects too. */
function reordered(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, turn))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map((_, i) => {
      const [key, item] = entries[(i + turn) % entries.length] as [string, unknown]
      return [key, reordered(item, turn)]
    }),
  )
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}

// What the rules define, computed a second time with another library.
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
const jsonForCbor2 = (value: unknown): unknown => {
  if (typeof value === 'number')
    return Number.isInteger(value) ? value + 0 : encodedNumber(value, 'f')
  if (Array.isArray(value)) return value.map(jsonForCbor2)
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, item]) => [key, jsonForCbor2(item)]))
}
function naivePayload(kind: KindName, payload: Json): Map<string, unknown> {
  const map = new Map<string, unknown>(Object.entries(payload))
  if (kind === 'ai') {
    const rounded = Math.fround((payload['temperature'] as number | undefined) ?? 0)
    map.set('temperature', encodedNumber(rounded === 0 ? 0 : rounded, 'f'))
    map.set('prompt', bytesOf(payload['prompt'] as string))
    map.set('qos_hint_ms', payload['qos_hint_ms'] ?? 0)
  } else if (kind === 'quantum') {
    map.set('circuit', bytesOf(payload['circuit'] as string))
    map.set('depth_hint', payload['depth_hint'] ?? 0)
  } else {
    map.set('args', jsonForCbor2(payload['args']))
    if (kind === 'registration') {
      map.set('scheduled_time', BigInt(payload['scheduled_time'] as number | string))
    }
  }
  return map
}
function leb128(n: bigint): number[] {
  return n < 128n ? [Number(n)] : [Number(n % 128n) + 128, ...leb128(n / 128n)]
}
function naiveId(written: Json): { cbor: string; id: string } {
  const kind = written['kind'] as KindName
  const payload = naivePayload(kind, written['payload'] as Json)
  const cbor = Buffer.from(cbor2Encode(payload, { cde: true, ignoreOriginalEncoding: false }))
  const input = Buffer.concat([
    Buffer.from('\x0cAICF_TASK_ID', 'latin1'),
    Buffer.from(leb128(BigInt(written['chain_id'] as number | string))),
    Buffer.from(leb128(BigInt(written['enqueue_block_height'] as number | string))),
    bytesOf(written['tx_hash'] as string),
    bytesOf(written['caller'] as string),
    cbor,
  ])
  return {
    cbor: cbor.toString('hex'),
    id: `0x${createHash('sha3-256').update(input).digest('hex')}`,
  }
}

const u64s = fc.oneof(fc.maxSafeInteger().map(Math.abs), fc.bigInt(0n, 2n ** 64n - 1n).map(String))
const hexBytes = (min: number) =>
  fc
    .uint8Array({ minLength: min, maxLength: 60 })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
const hex32 = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 })
const u32s = fc.nat({ max: 0xffff_ffff })
/** JSON without whole numbers beyond ±(2^53 − 1), which have no encoding. */
function isExact(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}
const args = fc
  .dictionary(
    fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.constant('__proto__')),
    fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
    { maxKeys: 6 },
  )
  .filter(isExact)
const payloads: Readonly<Record<KindName, fc.Arbitrary<Json>>> = {
  ai: fc.record(
    {
      model: names,
      prompt: hexBytes(0),
      max_tokens: fc.integer({ min: 1, max: 1_048_576 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      qos_hint_ms: u32s,
    },
    { requiredKeys: ['model', 'prompt', 'max_tokens'] },
  ),
  quantum: fc.record(
    { circuit: hexBytes(1), shots: fc.integer({ min: 1, max: 1_000_000 }), depth_hint: u32s },
    { requiredKeys: ['circuit', 'shots'] },
  ),
  task: fc.record({ name: names, args }),
  registration: fc.record({
    provider: names,
    org_ref: names,
    event_id: names,
    user_id: names,
    args,
    scheduled_time: u64s,
  }),
}
const requests = fc.constantFrom(...KIND_NAMES).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    caller: hex32,
    tx_hash: hex32,
    chain_id: u64s,
    enqueue_block_height: u64s,
    payload: payloads[kind],
  }),
)

describe('the id of a request', () => {
  it('ENQUEUE-1: any valid request has the payload and the id that the rules define', () => {
    fc.assert(
      fc.property(requests, (written) => {
        const accepted = accept(written)
        const expected = naiveId(written)
        expect(Buffer.from(accepted.payloadCbor).toString('hex')).toBe(expected.cbor)
        expect(accepted.jobId).toBe(expected.id)
        expect(accepted.caller).toBe(written.caller)
        expect(accepted.txHash).toBe(written.tx_hash)
      }),
      { numRuns: 600 },
    )
  })

  it('ENQUEUE-12: size_bytes is the length of the canonical payload', () => {
    fc.assert(
      fc.property(requests, (written) => {
        expect(accept(written).sizeBytes).toBe(naiveId(written).cbor.length / 2)
      }),
      { numRuns: 100 },
    )
  })

  it('ENQUEUE-1: equal requests in any order of keys have one id', () => {
    fc.assert(
      fc.property(requests, fc.nat(), (written, turn) => {
        expect(idOf(reordered(written, turn))).toBe(idOf(written))
      }),
      { numRuns: 200 },
    )
  })

  it('ENQUEUE-1: the checked payload decodes from its own encoding', () => {
    for (const kind of KIND_NAMES) {
      const { payload, payloadCbor } = accept(request(kind))
      const decoded = decodeCbor(payloadCbor) as CborMap
      expect(Object.keys(decoded).sort()).toEqual(Object.keys(payload).sort())
    }
  })

  const CHANGES: readonly [KindName, string, unknown][] = [
    ['ai', 'model', 'llama3-8B'],
    ['ai', 'prompt', '0x48656c6c70'],
    ['ai', 'prompt', '0x'],
    ['ai', 'max_tokens', 257],
    ['ai', 'temperature', 0.7000001],
    ['ai', 'temperature', 0],
    ['ai', 'qos_hint_ms', 501],
    ['ai', 'qos_hint_ms', undefined],
    ['quantum', 'circuit', '0x4f50454e00'],
    ['quantum', 'shots', 999],
    ['quantum', 'depth_hint', 0],
    ['task', 'name', 'resize-image2'],
    ['task', 'args', {}],
    ['task', 'args', { width: 640, scale: 0.5, tags: ['a', true, null] }],
    ['task', 'args', { width: 640, scale: 0.5, tags: ['a', null, 'true'] }],
    ['task', 'args', { width: '640', scale: 0.5, tags: ['a', null, true] }],
    ['registration', 'provider', 'campminder'],
    ['registration', 'org_ref', 'org-2'],
    ['registration', 'event_id', 'evt-43'],
    ['registration', 'user_id', 'user-8'],
    ['registration', 'args', { seats: 2, notes: { diet: 'vegan' } }],
    ['registration', 'scheduled_time', 1_760_000_400_001],
  ]
  it.each(CHANGES)('ID-1: another %s %s gives another id', (kind, field, value) => {
    const changed = request(kind, { [field]: value })
    expect(idOf(changed)).not.toBe(idOf(request(kind)))
  })

  it.each([
    ['caller', `0x${'ca'.repeat(31)}cb`],
    ['chain_id', 2],
    ['enqueue_block_height', 101],
    ['tx_hash', `0x${'7a'.repeat(31)}7b`],
  ])('ID-1: another %s gives another id', (field, value) => {
    const changed = request('ai', {}, { [field]: value })
    expect(idOf(changed)).not.toBe(idOf(request('ai')))
  })

  it('ID-1: text moved between neighbouring fields gives another id', () => {
    const a = request('registration', { event_id: 'ab', user_id: 'c' })
    const b = request('registration', { event_id: 'a', user_id: 'bc' })
    expect(idOf(a)).not.toBe(idOf(b))
  })

  it.each([
    ['max_fee_u64', 5],
    ['regions', ['eu']],
    ['ttl_abs_secs', 60],
  ])('ID-1: %s is not part of the id', (field, value) => {
    expect(idOf(request('ai', {}, { [field]: value }))).toBe(idOf(request('ai')))
  })

  it('VALUE-8: the same request gives the same result again, and its input is not changed', () => {
    fc.assert(
      fc.property(requests, (written) => {
        const before = JSON.stringify(written)
        const first = accept(deepFreeze(written))
        expect(JSON.stringify(written)).toBe(before)
        expect(accept(written)).toEqual(first)
      }),
      { numRuns: 100 },
    )
  })

  it('ENQUEUE-1: what was accepted does not change when the caller uses its objects again', () => {
    const prompt = new Uint8Array([1, 2, 3])
    const inner = { list: [1, 2] }
    const ai = accept(request('ai', { prompt }))
    const task = accept(request('task', { args: inner }))
    const regions = ['eu', 'us']
    const placed = accept(request('ai', {}, { regions }))
    prompt.fill(9)
    inner.list.push(3)
    regions.push('moon')
    const promptOf = ({ payloadCbor }: typeof ai) => (decodeCbor(payloadCbor) as CborMap)['prompt']
    expect(Array.from(promptOf(ai) as Uint8Array)).toEqual([1, 2, 3])
    expect(task.payload['args']).toEqual({ list: [1, 2] })
    expect(placed.regions).toEqual(['eu', 'us'])
  })
})

describe('u64 fields', () => {
  it.each(['chain_id', 'enqueue_block_height', 'max_fee_u64'])(
    'VALUE-2: %s takes both forms of a u64',
    (field) => {
      const forms = [7, '7', 7n].map((value) => accept(request('ai', {}, { [field]: value })))
      expect(new Set(forms.map((accepted) => accepted.jobId)).size).toBe(1)
      expect(new Set(forms.map((accepted) => accepted.maxFee)).size).toBe(1)
      const largest = accept(request('ai', {}, { [field]: '18446744073709551615' }))
      expect([largest.chainId, largest.enqueueHeight, largest.maxFee]).toContain(2n ** 64n - 1n)
      expect(accept(request('ai', {}, { [field]: 0 })).jobId).toBeTypeOf('string')
    },
  )

  it.each(
    ['chain_id', 'enqueue_block_height', 'max_fee_u64'].flatMap((field) =>
      [
        -1,
        1.5,
        2 ** 53,
        '18446744073709551616',
        '01',
        '-1',
        '+1',
        '',
        '1e3',
        null,
        true,
        [1],
        {},
        Number.NaN,
      ].map((value): [string, unknown] => [field, value]),
    ),
  )('VALUE-2: %s of %j is refused', (field, value) => {
    expectInvalid(request('ai', {}, { [field]: value }), field)
  })

  it('VALUE-2: scheduled_time takes both forms of a u64', () => {
    const at = (scheduled_time: unknown) => request('registration', { scheduled_time })
    expect(idOf(at('1760000400000'))).toBe(idOf(at(1_760_000_400_000)))
    expect(cborOf(at('18446744073709551615'))).toContain('1bffffffffffffffff')
    expect(cborOf(at(0))).not.toBe(cborOf(at(1)))
    for (const wrong of [-1, 0.5, 2 ** 53, '18446744073709551616', '', '01', null, true, {}]) {
      expectInvalid(at(wrong), 'scheduled_time')
    }
  })

  it('VALUE-4: the small form of a u64 is encoded like the large one, in the fewest bytes', () => {
    const at = (scheduled_time: unknown) => cborOf(request('registration', { scheduled_time }))
    expect(at('5')).toBe(at(5))
    expect(at('5')).toContain(`${Buffer.from('scheduled_time').toString('hex')}05`)
  })
})

describe('the fields around the payload', () => {
  it('ENQUEUE-9: the fee is 0 where it is left out', () => {
    expect(accept(request('ai')).maxFee).toBe(0n)
    expect(accept(request('ai', {}, { max_fee_u64: '9007199254740993' })).maxFee).toBe(
      9007199254740993n,
    )
  })

  it.each(['kind', 'caller', 'chain_id', 'enqueue_block_height', 'tx_hash', 'payload'])(
    'ENQUEUE-8: %s is required, and null is not a value',
    (field) => {
      expectInvalid(without(request('ai'), field), field)
      expectInvalid({ ...request('ai'), [field]: null }, field)
      expectInvalid({ ...request('ai'), [field]: undefined }, field)
    },
  )

  it.each(['caller', 'tx_hash'])('ENQUEUE-8: %s is exactly 32 bytes', (field) => {
    const bytes = new Uint8Array(32).fill(0xab)
    expect(idOf(request('ai', {}, { [field]: bytes }))).toBe(
      idOf(request('ai', {}, { [field]: `0x${'ab'.repeat(32)}` })),
    )
    const wrong = [
      '0x',
      `0x${'ab'.repeat(31)}`,
      `0x${'ab'.repeat(33)}`,
      `0x${'AB'.repeat(32)}`,
      'ab'.repeat(32),
      `0x${'ab'.repeat(32)}\n`,
      new Uint8Array(31),
      new Uint8Array(33),
      new Uint16Array(32),
      Array.from(bytes),
      7,
      {},
      { length: 32 },
    ]
    for (const value of wrong) expectInvalid(request('ai', {}, { [field]: value }), field)
  })

  it.each(['AI', 'ai ', '', 'constructor', '__proto__', 'toString', 0, { ai: 1 }, Object('ai')])(
    'KIND-1: there is no kind %j',
    (kind) => {
      expectInvalid({ ...request('ai'), kind }, 'kind')
    },
  )

  it('ENQUEUE-6: the idempotency key stands for SHA3 of its UTF-8', () => {
    const keyed = (key: unknown) => ({ ...without(request('ai'), 'tx_hash'), idempotency_key: key })
    for (const key of ['k', 'order-1', 'é\u{10151}', ' ', '\0', 'x'.repeat(256), 'é'.repeat(128)]) {
      const hash = `0x${createHash('sha3-256').update(Buffer.from(key, 'utf8')).digest('hex')}`
      expect(accept(keyed(key)).txHash).toBe(hash)
      expect(idOf(keyed(key))).toBe(idOf(request('ai', {}, { tx_hash: hash })))
    }
    expect(accept(keyed('order-1')).txHash).toBe(
      '0x75fc2c0b50958630336f21ade506268cecb34b09b7d041d52ba50fcc4a87445a',
    )
    expectOverCap(keyed('x'.repeat(257)), 'idempotency_key', 256, 257)
    expectOverCap(keyed(`x${'é'.repeat(128)}`), 'idempotency_key', 256, 257)
    for (const wrong of ['', '\ud800', null, 5, true, ['k'], {}, new Uint8Array(4)]) {
      expectInvalid(keyed(wrong), 'idempotency_key')
    }
  })

  it('ENQUEUE-6: both a tx_hash and a key, or neither, is refused', () => {
    expectInvalid(request('ai', {}, { idempotency_key: 'k' }), 'idempotency_key')
    expectInvalid(without(request('ai'), 'tx_hash'), 'tx_hash')
  })

  it('ENQUEUE-10: regions are null for anywhere, or names without repeats in byte order', () => {
    const regions = (value: unknown) => accept(request('ai', {}, { regions: value })).regions
    expect(accept(request('ai')).regions).toBeNull()
    expect(regions(null)).toBeNull()
    expect(regions(['us', 'eu', 'us'])).toEqual(['eu', 'us'])
    const sixtyFour = Array.from({ length: 64 }, (_, i) => `r${100 + i}`)
    expect(regions(sixtyFour)).toEqual(sixtyFour)
    expectOverCap(request('ai', {}, { regions: [...sixtyFour, 'x'] }), 'regions', 64, 65)
    for (const wrong of [[], [''], ['eu', ''], [1], [null], 'eu', {}, 5, true, ['\ud800']]) {
      expectInvalid(request('ai', {}, { regions: wrong }), 'regions')
    }
  })

  it('ENQUEUE-16: an ai job may name the precisions that will do, one or more', () => {
    const precision = (value: unknown) => accept(request('ai', {}, { precision: value })).needs
    expect(accept(request('ai')).needs).toBeNull()
    expect(precision(null)).toBeNull()
    expect(precision('fp8')).toEqual({ precision: ['fp8'], widthHint: 0, gates: null })
    expect(precision(['fp8', 'fp16', 'fp8'])?.precision).toEqual(['fp16', 'fp8'])
    for (const wrong of [[], [''], '', [1], 5, {}, true, ['\ud800']]) {
      expectInvalid(request('ai', {}, { precision: wrong }), 'precision')
    }
  })

  it('ENQUEUE-16: a quantum job may name its width and the gates that it uses', () => {
    const needs = (given: Json) => accept(request('quantum', {}, given)).needs
    expect(needs({ width_hint: null, gates: null })).toBeNull()
    expect(needs({ width_hint: 5 })).toEqual({ precision: null, widthHint: 5, gates: null })
    expect(needs({ width_hint: 2 ** 32 - 1 })?.widthHint).toBe(2 ** 32 - 1)
    expect(needs({ gates: ['h', 'cx', 'h'] })).toEqual({
      precision: null,
      widthHint: 0,
      gates: ['cx', 'h'],
    })
    for (const wrong of [-1, 0.5, 2 ** 32, '5', [], {}, true, Number.NaN]) {
      expectInvalid(request('quantum', {}, { width_hint: wrong }), 'width_hint')
    }
    for (const wrong of [[], [''], 'h', [1], 5, {}, true, ['\ud800']]) {
      expectInvalid(request('quantum', {}, { gates: wrong }), 'gates')
    }
  })

  it.each([
    ['precision', 'fp8', ['quantum', 'task', 'registration']],
    ['width_hint', 5, ['ai', 'task', 'registration']],
    ['gates', ['h'], ['ai', 'task', 'registration']],
  ] as const)('ENQUEUE-16: %s of another kind is refused by its name', (field, value, kinds) => {
    for (const kind of kinds) {
      expectInvalid(request(kind, {}, { [field]: value }), field)
      expect(accept(request(kind, {}, { [field]: null })).needs).toBeNull()
    }
  })

  it('ENQUEUE-16: at most 64 precisions or gates are named, which is policy', () => {
    const names = Array.from({ length: 64 }, (_, i) => `n${100 + i}`)
    expect(accept(request('ai', {}, { precision: names })).needs?.precision).toEqual(names)
    expectOverCap(request('ai', {}, { precision: [...names, 'x'] }), 'precision', 64, 65)
    expectOverCap(request('quantum', {}, { gates: [...names, 'x'] }), 'gates', 64, 65)
    const one = parsePolicy({ caps: { needs: 1 } }, 'fund')
    expect(refusal(request('quantum', {}, { gates: ['h', 'cx'] }), one).code).toBe('LimitExceeded')
  })

  it('ENQUEUE-16: needs are no part of the payload, and so not of the id', () => {
    expect(idOf(request('ai', {}, { precision: 'fp8' }))).toBe(idOf(request('ai')))
    const asking = request('quantum', {}, { width_hint: 5, gates: ['h'] })
    expect(idOf(asking)).toBe(idOf(request('quantum')))
    expect(cborOf(asking)).toBe(cborOf(request('quantum')))
  })

  it('VALUE-9: regions are sorted by their UTF-8 bytes', () => {
    const { regions } = accept(request('ai', {}, { regions: ['\u{1f600}', '\uff5e'] }))
    expect(regions).toEqual(['\uff5e', '\u{1f600}'])
  })

  it('ENQUEUE-11: ttl_abs_secs is a whole number from 1 to ten years, or left to policy', () => {
    const ttl = (value: unknown) => accept(request('ai', {}, { ttl_abs_secs: value })).ttlAbsSecs
    expect(accept(request('ai')).ttlAbsSecs).toBeNull()
    expect([ttl(null), ttl(1), ttl(315_360_000)]).toEqual([null, 1, 315_360_000])
    for (const wrong of [0, -1, 0.5, 315_360_001, '60', true, [], {}, Number.NaN]) {
      expectInvalid(request('ai', {}, { ttl_abs_secs: wrong }), 'ttl_abs_secs')
    }
  })

  it.each(['tier', 'prio', 'max_fee', 'Kind', 'constructor', 'toString', '', 'payload '])(
    'ENQUEUE-1: the unknown field %j is refused by its name',
    (field) => {
      expectInvalid(request('ai', {}, { [field]: 'PREMIUM' }), field)
      expectInvalid(request('ai', {}, { [field]: undefined }), field)
    },
  )

  it.each(KIND_NAMES)('ENQUEUE-15: a request of kind %s cannot name its tier', (kind) => {
    for (const tier of ['FREE', 'PREMIUM', null]) {
      expectInvalid(request(kind, {}, { tier }), 'tier')
      expectInvalid(request(kind, { tier }), 'tier')
    }
    expect(accept(request(kind))).not.toHaveProperty('tier')
  })

  it.each([[null], [undefined], ['ai'], [5], [true], [[]], [[1]], [() => 1]])(
    'ENQUEUE-1: %j is not a request, and not a payload',
    (wrong) => {
      expectInvalid(wrong, 'request')
      expectInvalid({ ...request('ai'), payload: wrong }, 'payload')
    },
  )
})

describe('payload fields', () => {
  const REQUIRED: readonly [KindName, string][] = [
    ['ai', 'model'],
    ['ai', 'prompt'],
    ['ai', 'max_tokens'],
    ['quantum', 'circuit'],
    ['quantum', 'shots'],
    ['task', 'name'],
    ['task', 'args'],
    ['registration', 'provider'],
    ['registration', 'org_ref'],
    ['registration', 'event_id'],
    ['registration', 'user_id'],
    ['registration', 'args'],
    ['registration', 'scheduled_time'],
  ]
  const OPTIONAL: readonly [KindName, string][] = [
    ['ai', 'temperature'],
    ['ai', 'qos_hint_ms'],
    ['quantum', 'depth_hint'],
  ]

  it.each(REQUIRED)('ENQUEUE-2: %s needs %s, and null is not a value', (kind, field) => {
    const payload = without(PAYLOADS[kind], field)
    expectInvalid(request(kind, {}, { payload }), field)
    expectInvalid(request(kind, { [field]: null }), field)
  })

  it.each(OPTIONAL)('ENQUEUE-2: %s without %s is as with 0, and null is refused', (kind, field) => {
    const payload = without(PAYLOADS[kind], field)
    const absent = request(kind, {}, { payload })
    expect(idOf(absent)).toBe(idOf(request(kind, { [field]: 0 })))
    expect(Object.keys(accept(absent).payload)).toContain(field)
    expectInvalid(request(kind, { [field]: null }), field)
  })

  it.each(
    KIND_NAMES.flatMap((kind) =>
      ['top_p', 'Model', '', 'constructor', 'toString', 'hasOwnProperty', 'kind', 'caller'].map(
        (field): [KindName, string] => [kind, field],
      ),
    ),
  )('ENQUEUE-2: %s refuses the unknown field %j by its name', (kind, field) => {
    expectInvalid(request(kind, { [field]: 1 }), field)
    expectInvalid(request(kind, { [field]: undefined }), field)
  })

  it('ENQUEUE-2: a field of one kind is unknown to the others', () => {
    expectInvalid(request('ai', { shots: 1 }), 'shots')
    expectInvalid(request('quantum', { model: 'm' }), 'model')
    expectInvalid(request('task', { user_id: 'u' }), 'user_id')
    expectInvalid(request('registration', { name: 'n' }), 'name')
  })

  const TEXTS: readonly [KindName, string][] = [
    ['ai', 'model'],
    ['task', 'name'],
    ['registration', 'provider'],
    ['registration', 'org_ref'],
    ['registration', 'event_id'],
    ['registration', 'user_id'],
  ]
  it.each(TEXTS)('ENQUEUE-5: %s takes 1 to 128 bytes of %s', (kind, field) => {
    for (const fits of ['a', '\0', 'a'.repeat(128), 'é'.repeat(64), '\u{10151}'.repeat(32), '*']) {
      expect(accept(request(kind, { [field]: fits })).payload[field]).toBe(fits)
    }
    expectOverCap(request(kind, { [field]: 'a'.repeat(129) }), field, 128, 129)
    expectOverCap(request(kind, { [field]: `a${'é'.repeat(64)}` }), field, 128, 129)
    expectOverCap(request(kind, { [field]: '\u{10151}'.repeat(33) }), field, 128, 132)
    const wrongs = ['', '\ud800', 'a\udc00', 5, true, ['a'], {}, new Uint8Array(3), Object('a'), 5n]
    for (const wrong of wrongs) {
      expectInvalid(request(kind, { [field]: wrong }), field)
    }
  })

  it.each([
    ['ai', 'prompt', 65_536, true],
    ['quantum', 'circuit', 131_072, false],
  ] as [KindName, string, number, boolean][])(
    'ENQUEUE-5: %s takes %s of up to %d bytes',
    (kind, field, max, mayBeEmpty) => {
      expect(accept(request(kind, { [field]: `0x${'61'.repeat(max)}` })).sizeBytes).toBeGreaterThan(
        max,
      )
      expectOverCap(request(kind, { [field]: `0x${'61'.repeat(max + 1)}` }), field, max, max + 1)
      expectOverCap(request(kind, { [field]: new Uint8Array(max + 1) }), field, max, max + 1)
      if (mayBeEmpty) expect(cborOf(request(kind, { [field]: '0x' }))).toBeTypeOf('string')
      else expectInvalid(request(kind, { [field]: '0x' }), field)
      const wrong = ['', 'abcd', '0xa', '0xAB', '0xzz', ' 0x00', '0x00 ', 5, true, [1], {}]
      for (const value of wrong) expectInvalid(request(kind, { [field]: value }), field)
      expect(idOf(request(kind, { [field]: Uint8Array.of(1, 2) }))).toBe(
        idOf(request(kind, { [field]: '0x0102' })),
      )
    },
  )

  it.each([
    ['ai', 'max_tokens', 1_048_576],
    ['quantum', 'shots', 1_000_000],
  ] as [KindName, string, number][])('ENQUEUE-5: %s takes %s from 1 to %d', (kind, field, max) => {
    for (const fits of [1, 2, max]) {
      expect(accept(request(kind, { [field]: fits })).payload[field]).toBe(fits)
    }
    expectOverCap(request(kind, { [field]: max + 1 }), field, max, max + 1)
    const most = Number.MAX_SAFE_INTEGER
    expectOverCap(request(kind, { [field]: most }), field, max, most)
    const wrong = [0, -0, -1, 1.5, 2 ** 53, 1e300, Number.NaN, '5', '', true, [1], {}, 5n]
    for (const value of wrong) expectInvalid(request(kind, { [field]: value }), field)
    expectInvalid(request(kind, { [field]: new CborFloat(5) }), field)
  })

  it.each([
    ['ai', 'qos_hint_ms'],
    ['quantum', 'depth_hint'],
  ] as [KindName, string][])('ENQUEUE-5: %s takes %s from 0 to 2^32 − 1', (kind, field) => {
    for (const fits of [0, 1, 2 ** 32 - 1]) {
      expect(accept(request(kind, { [field]: fits })).payload[field]).toBe(fits)
    }
    expect(idOf(request(kind, { [field]: -0 }))).toBe(idOf(request(kind, { [field]: 0 })))
    const wrong = [2 ** 32, -1, 0.5, Number.NaN, '1', true, [], {}, 1n]
    for (const value of wrong) expectInvalid(request(kind, { [field]: value }), field)
  })

  it('ENQUEUE-5: caps are policy', () => {
    const tight = parsePolicy({
      caps: {
        idempotency_key: 2,
        ai: { model: 2, prompt: 0, max_tokens: 3 },
        quantum: { circuit: 1, shots: 1 },
        task: { name: 1, args: 1 },
        registration: { provider: 3, org_ref: 3, event_id: 3, user_id: 3, args: 4 },
      },
    })
    const ai = { model: 'ab', prompt: '0x', max_tokens: 3 }
    expect(accept(request('ai', ai), tight).payload['max_tokens']).toBe(3)
    expectOverCap(request('ai', { ...ai, model: 'abc' }), 'model', 2, 3, tight)
    expectOverCap(request('ai', { ...ai, prompt: '0x00' }), 'prompt', 0, 1, tight)
    expectOverCap(request('ai', { ...ai, max_tokens: 4 }), 'max_tokens', 3, 4, tight)
    const quantum = { circuit: '0x00', shots: 1 }
    expect(accept(request('quantum', quantum), tight).payload['shots']).toBe(1)
    expectOverCap(request('quantum', { ...quantum, circuit: '0x0000' }), 'circuit', 1, 2, tight)
    expectOverCap(request('quantum', { ...quantum, shots: 2 }), 'shots', 1, 2, tight)
    const task = { name: 'n', args: {} }
    expect(accept(request('task', task), tight).payload['name']).toBe('n')
    expectOverCap(request('task', { ...task, name: 'nn' }), 'name', 1, 2, tight)
    expectOverCap(request('task', { ...task, args: { '': 1 } }), 'args', 1, 3, tight)
    const signUp = { provider: 'abc', org_ref: 'abc', event_id: 'abc', user_id: 'abc' }
    const registration = { ...signUp, args: { a: 1 } }
    expect(accept(request('registration', registration), tight).payload['org_ref']).toBe('abc')
    for (const field of Object.keys(signUp)) {
      expectOverCap(
        request('registration', { ...registration, [field]: 'abcd' }),
        field,
        3,
        4,
        tight,
      )
    }
    const keyed = { ...without(request('ai', ai), 'tx_hash'), idempotency_key: 'abc' }
    expectOverCap(keyed, 'idempotency_key', 2, 3, tight)
  })
})

describe('temperature', () => {
  const at = (temperature: unknown) => request('ai', { temperature })
  const encoded = (temperature: unknown): string => {
    const cbor = cborOf(at(temperature))
    const name = Buffer.from('temperature').toString('hex')
    return cbor.slice(cbor.indexOf(name) + name.length)
  }

  it.each([
    [0, 'f90000'],
    [1, 'f93c00'],
    [2, 'f94000'],
    [0.5, 'f93800'],
    [0.7, 'fa3f333333'],
    [0.1, 'fa3dcccccd'],
    [1.9999999, 'fa3fffffff'],
    [2 ** -24, 'f90001'],
    [2 ** -149, 'fa00000001'],
    [1e-60, 'f90000'],
    [-0, 'f90000'],
    [-1e-60, 'f90000'],
    [2.0000001, 'f94000'],
  ])('ENQUEUE-3: %d is rounded to float32 first and encoded as the float %s', (written, form) => {
    expect(encoded(written)).toBe(form)
    expect(encoded(new CborFloat(written))).toBe(form)
  })

  it('ENQUEUE-3: a temperature and what it is rounded to give one id, never an f64', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 2, noNaN: true }), (written) => {
        expect(idOf(at(Math.fround(written)))).toBe(idOf(at(written)))
        expect(encoded(written)).toMatch(/^(f9.{4}|fa.{8})$/)
        const kept = accept(at(written)).payload['temperature']
        expect(kept).toEqual(new CborFloat(Math.fround(written) + 0))
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    -2e-45,
    -0.1,
    2.0000002384185791,
    2.001,
    1e39,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    '0.7',
    '',
    true,
    null,
    { value: 0.7 },
    {},
    1n,
    new CborFloat(Number.NaN),
    new CborFloat(3),
  ])('ENQUEUE-3: %o is refused', (wrong) => {
    expectInvalid(at(wrong), 'temperature')
  })
})

describe('args', () => {
  const KINDS_WITH_ARGS: readonly [KindName, number][] = [
    ['task', 65_536],
    ['registration', 16_384],
  ]
  /** `{x: text}` whose canonical CBOR is of `size` bytes: a1 61 78, a head of three, the text. */
  const argsOf = (size: number) => ({ x: 'a'.repeat(size - (size > 65_541 ? 8 : 6)) })

  it.each(KINDS_WITH_ARGS)(
    'ENQUEUE-4: %s takes args of up to %d bytes of canonical CBOR',
    (kind, max) => {
      const base = accept(request(kind, { args: {} })).sizeBytes - 1
      const atCap = accept(request(kind, { args: argsOf(max) }))
      expect(atCap.sizeBytes).toBe(base + max)
      expectOverCap(request(kind, { args: argsOf(max + 1) }), 'args', max, max + 1)
      expectOverCap(
        request(kind, { args: { x: 'é'.repeat(max) } }),
        'args',
        max,
        3 + (2 * max > 65_535 ? 5 : 3) + 2 * max,
      )
      expect(accept(request(kind, { args: {} })).payload['args']).toEqual({})
    },
  )

  it.each(
    KINDS_WITH_ARGS.flatMap(([kind]) =>
      [
        [],
        [1],
        'text',
        '',
        5,
        true,
        new Uint8Array(2),
        new CborFloat(1),
        { a: 1n },
        { a: undefined },
        { a: () => 1 },
        { a: Symbol('s') },
        { a: Number.NaN },
        { a: [Number.POSITIVE_INFINITY] },
        { a: 2 ** 53 },
        { a: -(2 ** 53) },
        { a: [{ b: 1e300 }] },
        { a: 'x\ud800' },
        { 'x\ud800': 1 },
        { a: new Uint8Array(1) },
        { a: new Array(2) },
      ].map((wrong): [KindName, unknown] => [kind, wrong]),
    ),
  )('ENQUEUE-4: %s refuses args %o', (kind, wrong) => {
    expectInvalid(request(kind, { args: wrong }), 'args')
  })

  it.each([
    ['a Date', new Date(0)],
    ['a Map', new Map([['a', 1]])],
    ['a Set', new Set([1])],
    ['a RegExp', /x/],
    ['a boxed number', Object(5)],
    ['an ArrayBuffer', new ArrayBuffer(4)],
    ['an Error', new Error('x')],
    ['a Promise', Promise.resolve(1)],
  ])(
    'ENQUEUE-4: %s is not what JSON can hold, and is not taken for an empty object',
    (_, wrong) => {
      expectInvalid(request('task', { args: { at: wrong } }), 'args')
      expectInvalid(request('task', { args: wrong }), 'args')
    },
  )

  it.each([
    [0, '00'],
    [-0, '00'],
    [1, '01'],
    [-1, '20'],
    [1.5, 'f93e00'],
    [0.1, 'fb3fb999999999999a'],
    [Math.fround(0.1), 'fa3dcccccd'],
    [-0.5, 'f9b800'],
    [2 ** 53 - 1, '1b001fffffffffffff'],
    [-(2 ** 53 - 1), '3b001ffffffffffffe'],
    [5e-324, 'fb0000000000000001'],
    [2 ** -24, 'f90001'],
    [100_000.5, 'fa47c35040'],
  ])('ENQUEUE-4: in args %d is encoded as %s', (written, form) => {
    expect(cborOf(request('task', { args: { n: written } }))).toContain(
      `${Buffer.from('args').toString('hex')}a1616e${form}64`,
    )
  })

  it('ENQUEUE-4: a whole number is one value, written as a float on the wire or not', () => {
    expect(idOf(request('task', { args: { n: new CborFloat(1) } }))).toBe(
      idOf(request('task', { args: { n: 1 } })),
    )
    expect(idOf(request('task', { args: { n: new CborFloat(-0) } }))).toBe(
      idOf(request('task', { args: { n: 0 } })),
    )
    expectInvalid(request('task', { args: { n: new CborFloat(1e300) } }), 'args')
  })

  const nested = (levels: number): unknown => {
    let value: unknown = {}
    for (let i = 1; i < levels; i++) value = i === levels - 1 ? { a: value } : [value]
    return value
  }

  it('CBOR-6: args may be nested as deep as a payload of 256 levels has room for', () => {
    expect(accept(request('task', { args: nested(255) })).sizeBytes).toBeGreaterThan(255)
  })

  it.each([256, 257, 258, 300, 50_000])(
    'CBOR-6: args of %d levels are refused, naming args',
    (levels) => {
      expectInvalid(request('task', { args: nested(levels) }), 'args')
      expectInvalid(request('registration', { args: nested(levels) }), 'args')
    },
  )

  it('CBOR-6: args that contain themselves are refused', () => {
    const circle: Json = {}
    circle['self'] = circle
    expectInvalid(request('task', { args: circle }), 'args')
  })
})

describe('hostile objects', () => {
  const parsed = (text: string): Json => JSON.parse(text) as Json

  it('ENQUEUE-2: __proto__ in a request or payload is an unknown field', () => {
    const payload = parsed('{"__proto__": {"temperature": 1}}')
    Object.assign(payload, PAYLOADS.ai)
    expectInvalid(request('ai', {}, { payload }), '__proto__')
    const outer = parsed('{"__proto__": {"ttl_abs_secs": 1}}')
    expectInvalid(Object.assign(outer, request('ai')), '__proto__')
  })

  it('ENQUEUE-4: __proto__ and constructor in args are keys like any other', () => {
    const args = parsed('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"x": 1}}}')
    const accepted = accept(request('task', { args }))
    const kept = (decodeCbor(accepted.payloadCbor) as CborMap)['args'] as CborMap
    expect(Object.keys(kept).sort()).toEqual(['__proto__', 'constructor'])
    expect(Object.keys(accepted.payload['args'] as CborMap).sort()).toEqual([
      '__proto__',
      'constructor',
    ])
    expect(idOf(request('task', { args }))).not.toBe(idOf(request('task', { args: {} })))
    expect(({} as Json)['polluted']).toBeUndefined()
    expect(({} as Json)['x']).toBeUndefined()
  })

  it('ENQUEUE-2: a payload that inherits fields is not an object as JSON has them', () => {
    const inherited = Object.assign(
      Object.create({ temperature: 1, qos_hint_ms: 9 }) as Json,
      without(PAYLOADS.ai, 'temperature', 'qos_hint_ms'),
    )
    expect(() => idOf(request('ai', {}, { payload: inherited }))).toThrow(/^payload: expected/)
  })

  it('ENQUEUE-1: a request that inherits fields is not an object as JSON has them', () => {
    const inherited = Object.assign(
      Object.create({ max_fee_u64: 7, ttl_abs_secs: 60 }) as Json,
      request('ai'),
    )
    expect(() => accept(inherited)).toThrow(/^request: expected/)
  })

  it('ENQUEUE-2: an object without a prototype is an object', () => {
    const bare = (object: Json): Json => Object.assign(Object.create(null) as Json, object)
    const args = bare({ a: bare({ b: 1 }) })
    const written = bare(request('task', {}, { payload: bare({ name: 'n', args }) }))
    expect(idOf(written)).toBe(idOf(request('task', { name: 'n', args: { a: { b: 1 } } })))
  })

  it('ENQUEUE-1: each field is read once, so that what was checked is what is used', () => {
    const reads = new Map<string, number>()
    const watched = (object: Json, path: string): Json =>
      new Proxy(object, {
        get(target, name) {
          const place = `${path}.${String(name)}`
          reads.set(place, (reads.get(place) ?? 0) + 1)
          return target[name as string]
        },
      })
    for (const kind of KIND_NAMES) {
      reads.clear()
      const payload = { ...PAYLOADS[kind] }
      if ('args' in payload) payload['args'] = watched(payload['args'] as Json, 'args')
      const written = request(kind, {}, { payload: watched(payload, 'payload'), max_fee_u64: 1 })
      expect(idOf(watched(written, 'request'))).toBe(idOf(request(kind)))
      const fields = Object.keys(written).map((name) => `request.${name}`)
      fields.push(...Object.keys(payload).map((name) => `payload.${name}`))
      expect(fields.filter((place) => reads.get(place) !== 1)).toEqual([])
      expect([...reads].filter(([, times]) => times > 1)).toEqual([])
    }
  })

  it('ENQUEUE-1: a getter cannot slip a second value past the checks', () => {
    let calls = 0
    const payload = {
      ...PAYLOADS.ai,
      get model() {
        calls++
        return calls === 1 ? 'small' : 'x'.repeat(1_000)
      },
    }
    const accepted = accept(request('ai', {}, { payload }))
    expect(accepted.payload['model']).toBe('small')
    expect(accepted.demand.model).toBe('small')
    expect((decodeCbor(accepted.payloadCbor) as CborMap)['model']).toBe('small')
  })

  it('ERROR-4: a refusal never repeats a value', () => {
    const secret = 'hunter2-anna@example.com'
    const wrongs: Json[] = [
      request('ai', { prompt: secret }),
      request('ai', { max_tokens: secret }),
      request('ai', { temperature: secret }),
      request('ai', { model: `${secret}\ud800` }),
      request('ai', { model: secret.repeat(20) }),
      request('task', { args: { note: `${secret}\ud800` } }),
      request('task', { args: { [`${secret}\ud800`]: 1 } }),
      request('task', { args: secret }),
      request('registration', { user_id: secret.repeat(20) }),
      request('registration', { scheduled_time: secret }),
      request('ai', {}, { caller: secret }),
      request('ai', {}, { regions: secret }),
      request('ai', {}, { kind: secret }),
      request('ai', {}, { payload: secret }),
      { ...without(request('ai'), 'tx_hash'), idempotency_key: secret.repeat(20) },
    ]
    for (const wrong of wrongs) {
      const error = refusal(wrong)
      expect(error.message + JSON.stringify(error.details)).not.toContain('hunter2')
    }
  })
})

describe('what a job asks for', () => {
  it.each([
    [1, 1],
    [99, 1],
    [100, 1],
    [101, 2],
    [1_048_576, 10_486],
  ])('QUOTA-2: %d tokens are %d units', (max_tokens, units) => {
    expect(accept(request('ai', { max_tokens })).demand).toEqual({
      model: 'llama3-8b',
      shots: 0,
      depthHint: 0,
      units,
      tokens: max_tokens + 5,
    })
  })

  it.each([
    [1, 0, 1],
    [10_000, 0, 1],
    [10_001, 0, 2],
    [10_000, 1, 1],
    [5_000, 2, 1],
    [5_001, 2, 2],
    [1_000_000, 2 ** 32 - 1, 429_496_729_500],
  ])('QUOTA-2: %d shots at depth %d are %d units', (shots, depth_hint, units) => {
    expect(accept(request('quantum', { shots, depth_hint })).demand).toEqual({
      model: null,
      shots,
      depthHint: depth_hint,
      units,
      tokens: 0,
    })
  })

  it('VALUE-6: units are exact for every cap that policy allows', () => {
    const u32 = { min: 1, max: 2 ** 32 - 1 }
    const exact = (shots: number, depth: number): bigint =>
      (BigInt(shots) * BigInt(depth) + 9_999n) / 10_000n
    expect(BigInt(quantumDemand(4_294_967_290, 4_294_967_295).units)).toBe(
      exact(4_294_967_290, 4_294_967_295),
    )
    fc.assert(
      fc.property(fc.integer(u32), fc.integer(u32), (shots, depth) => {
        expect(BigInt(quantumDemand(shots, depth).units)).toBe(exact(shots, depth))
      }),
    )
  })

  it('QUOTA-2: a task and a registration are one unit; a name or a platform stands for the model', () => {
    expect(accept(request('task')).demand).toMatchObject({ model: 'resize-image', units: 1 })
    expect(accept(request('registration')).demand).toMatchObject({ model: 'bookeo', units: 1 })
  })
})

it('ENQUEUE-4: beyond twice the cap no more items are looked at', () => {
  let looked = 0
  const many = new Proxy(new Array(500_000).fill(1), {
    get: (list, key, self) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) looked++
      return Reflect.get(list, key, self)
    },
  })
  const { code, details } = refusal(request('task', { args: { many } }))
  expect(code).toBe('LimitExceeded')
  expect(details).toEqual({ limit: 'args', max: 65_536, observed: 131_072 })
  expect(looked).toBeLessThanOrEqual(131_072)
})
