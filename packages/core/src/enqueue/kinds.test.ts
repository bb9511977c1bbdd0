import { describe, expect, it } from 'vitest'
import { refusal } from '../../test/refusal.ts'
import { CborFloat } from '../encoding/cbor.ts'
import { openMarket } from '../market/market.ts'
import { parsePolicy } from '../policy/policy.ts'
import { KIND_NAMES, KINDS, type KindName } from './kinds.ts'
import { readPayload } from './payload.ts'

type Payload = Readonly<Record<string, unknown>>

const FUND = parsePolicy({}, 'fund')
const U64_MAX = 2n ** 64n - 1n

/** One text, so long that all of it takes that many bytes of canonical CBOR. */
function argsOf(bytes: number): object {
  return { a: 'x'.repeat(bytes - 6) }
}

/** The table of a kind: what it takes at the least and at the most, and what is one beyond. */
interface Table {
  readonly kind: KindName
  readonly least: Payload
  /** How the least is kept, with what may be left out. */
  readonly kept: Payload
  readonly most: Payload
  readonly below: Payload
  readonly beyond: Readonly<Record<string, readonly [unknown, 'LimitExceeded' | 'InvalidParams']>>
}

const TABLES: Readonly<Record<KindName, Table>> = {
  ai: {
    kind: 'ai',
    least: { model: 'm', prompt: Buffer.alloc(0), max_tokens: 1 },
    kept: {
      model: 'm',
      prompt: Buffer.alloc(0),
      max_tokens: 1,
      temperature: new CborFloat(0),
      qos_hint_ms: 0,
    },
    most: {
      model: 'é'.repeat(64),
      prompt: Buffer.alloc(65_536),
      max_tokens: 1_048_576,
      temperature: new CborFloat(2),
      qos_hint_ms: 4_294_967_295,
    },
    below: { model: '', max_tokens: 0, temperature: -0.1, qos_hint_ms: -1 },
    beyond: {
      model: [`é${'m'.repeat(127)}`, 'LimitExceeded'],
      prompt: [Buffer.alloc(65_537), 'LimitExceeded'],
      max_tokens: [1_048_577, 'LimitExceeded'],
      temperature: [2.001, 'InvalidParams'],
      qos_hint_ms: [4_294_967_296, 'InvalidParams'],
    },
  },
  quantum: {
    kind: 'quantum',
    least: { circuit: Buffer.of(0), shots: 1 },
    kept: { circuit: Buffer.of(0), shots: 1, depth_hint: 0 },
    most: { circuit: Buffer.alloc(131_072), shots: 1_000_000, depth_hint: 4_294_967_295 },
    below: { circuit: '0x', shots: 0, depth_hint: -1 },
    beyond: {
      circuit: [Buffer.alloc(131_073), 'LimitExceeded'],
      shots: [1_000_001, 'LimitExceeded'],
      depth_hint: [4_294_967_296, 'InvalidParams'],
    },
  },
  task: {
    kind: 'task',
    least: { name: 'n', args: {} },
    kept: { name: 'n', args: {} },
    most: { name: 'n'.repeat(128), args: argsOf(65_536) },
    below: { name: '', args: null },
    beyond: {
      name: ['n'.repeat(129), 'LimitExceeded'],
      args: [argsOf(65_537), 'LimitExceeded'],
    },
  },
  registration: {
    kind: 'registration',
    least: { ...names('r'), args: {}, scheduled_time: 0 },
    kept: { ...names('r'), args: {}, scheduled_time: 0n },
    most: { ...names('r'.repeat(128)), args: argsOf(16_384), scheduled_time: U64_MAX },
    below: { ...names(''), args: null, scheduled_time: -1 },
    beyond: {
      provider: ['r'.repeat(129), 'LimitExceeded'],
      org_ref: ['r'.repeat(129), 'LimitExceeded'],
      event_id: ['r'.repeat(129), 'LimitExceeded'],
      user_id: ['r'.repeat(129), 'LimitExceeded'],
      args: [argsOf(16_385), 'LimitExceeded'],
      scheduled_time: [String(U64_MAX + 1n), 'InvalidParams'],
    },
  },
}

describe('KIND-2: the payload of kind ai', () => checkPayload(TABLES.ai))
describe('KIND-3: the payload of kind quantum', () => checkPayload(TABLES.quantum))
describe('KIND-4: the payload of kind task', () => checkPayload(TABLES.task))
describe('KIND-5: the payload of kind registration', () => checkPayload(TABLES.registration))

function checkPayload({ kind, least, kept, ...table }: Table): void {
  const read = (payload: Payload) =>
    readPayload(payload, KINDS[kind].fields, KINDS[kind].caps(FUND))

  it('the least that it takes, with 0 for what is left out', () => {
    expect(read(least)).toEqual(kept)
  })

  it.each(Object.keys(least))('it needs %s', (field) => {
    const { [field]: _, ...rest } = least
    expect(refusal(() => read(rest))).toBe('InvalidParams')
  })

  it('the most that it takes, each field at its cap', () => {
    const written =
      kind === 'registration' ? { ...table.most, scheduled_time: String(U64_MAX) } : table.most
    expect(read(written)).toEqual(table.most)
  })

  it.each(Object.entries(table.below))('a %s of %j is too little', (field, value) => {
    expect(refusal(() => read({ ...least, [field]: value }))).toBe('InvalidParams')
  })

  it.each(Object.keys(table.beyond))('one more than the most of %s is refused', (field) => {
    const [value, code] = table.beyond[field] ?? []
    expect(refusal(() => read({ ...least, [field]: value }))).toBe(code)
  })

  it('these are all its fields', () => {
    expect(Object.keys(table.beyond).sort()).toEqual(Object.keys(KINDS[kind].fields).sort())
  })
}

it('KIND-4: the name of a task stands where an ai job has its model', () => {
  expect(KINDS.task.demand({ name: 'resize', args: {} }).model).toBe('resize')
  expect(KINDS.ai.demand({ model: 'llama', max_tokens: 1, prompt: new Uint8Array() }).model).toBe(
    'llama',
  )
})

describe('the figures of a kind', () => {
  // biome-ignore format: a table
  it.each([
    ['ai',           { lease: 600, backoff: 5, life: 86_400, units: 100_000, verification: 'proof' }],
    ['quantum',      { lease: 180, backoff: 2, life:  7_200, units:  10_000, verification: 'proof' }],
    ['task',         { lease: 600, backoff: 5, life: 86_400, units:    null, verification: 'none' }],
    ['registration', { lease:  60, backoff: 0, life: 86_400, units:    null, verification: 'none' }],
  ] as const)('KIND-6: those of kind %s are the defaults of the table', (kind, figures) => {
    expect(figuresOf(kind)).toEqual(figures)
  })

  // biome-ignore format: a table
  it.each([
    ['ai',           { lease: 11, backoff: 21, life: 31, units: 41, verification: 'none' }],
    ['quantum',      { lease: 12, backoff: 22, life: 32, units: 42, verification: 'none' }],
    ['task',         { lease: 13, backoff: 23, life: 33, units: 43, verification: 'none' }],
    ['registration', { lease: 14, backoff:  0, life: 34, units: 44, verification: 'none' }],
  ] as const)('KIND-6: each of kind %s is a setting of its own', (kind, figures) => {
    const { lease, backoff, life, units, verification } = figures
    const quotas = { [`${kind}_units_per_epoch`]: units }
    const retries = kind === 'registration' ? {} : { [`base_backoff_${kind}_secs`]: backoff }
    const queue = {
      lease: { [`${kind}_secs`]: lease },
      retries,
      ttl: { [`abs_default_${kind}_secs`]: life },
      quotas,
      // What a platform has booked needs no proof.
      ...(kind === 'registration' ? {} : { completion: { [`${kind}_verification`]: verification } }),
    }
    expect(figuresOf(kind, { queue })).toEqual(figures)
    for (const other of KIND_NAMES) {
      if (other !== kind) expect(figuresOf(other, { queue })).toEqual(figuresOf(other))
    }
  })

  it('KIND-6: registrations wait in no queue that a round looks at', () => {
    const { queues } = openMarket({ policy: FUND, nowMs: 0 })
    expect([...queues.keys()]).toEqual(['ai', 'quantum', 'task'])
  })
})

function figuresOf(kind: KindName, written: object = {}) {
  const policy = parsePolicy(written, 'fund')
  const row = KINDS[kind]
  return {
    lease: row.leaseSecs(policy),
    backoff: row.backoffBaseSecs(policy),
    life: row.ttlAbsSecs(policy),
    units: row.unitsPerEpoch(policy),
    verification: row.verification(policy),
  }
}

function names(text: string): Payload {
  return { provider: text, org_ref: text, event_id: text, user_id: text }
}
