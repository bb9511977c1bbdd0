import { createHash } from 'node:crypto'
import { encode as cbor2Encode } from 'cbor2'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CborFloat, type CborMap, type CborValue } from '../encoding/cbor.ts'
import { FairleadError } from '../errors.ts'
import {
  type AuditEntry,
  type AuditHead,
  type AuditRecord,
  appendAudit,
  brokenSeq,
  EMPTY_AUDIT,
} from './chain.ts'

const ZERO_HASH = `0x${'00'.repeat(32)}`

// The definition of the hash, with another CBOR library.
const forLibrary = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(forLibrary)
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, item]) => [key, forLibrary(item)]))
}
function naiveHash(entry: Omit<AuditEntry, 'hash'>): string {
  const { seq, at, actor, action, subject, details, prevHash } = entry
  const cbor = cbor2Encode(forLibrary({ seq, at, actor, action, subject, details }), { cde: true })
  return `0x${createHash('sha3-256')
    .update(Buffer.from(prevHash.slice(2), 'hex'))
    .update(cbor)
    .digest('hex')}`
}
function naiveBroken(entries: readonly AuditEntry[], head: AuditHead = EMPTY_AUDIT): number | null {
  for (const [i, entry] of entries.entries()) {
    const before = i === 0 ? head.hash : (entries[i - 1] as AuditEntry).hash
    const due = head.seq + 1 + i
    if (entry.seq !== due || entry.prevHash !== before || entry.hash !== naiveHash(entry))
      return due
  }
  return null
}

function chainOf(records: readonly AuditRecord[], start: AuditHead = EMPTY_AUDIT): AuditEntry[] {
  const entries: AuditEntry[] = []
  for (const record of records) entries.push(appendAudit(entries.at(-1) ?? start, record))
  return entries
}

const record = (n: number, changes: Partial<AuditRecord> = {}): AuditRecord => ({
  at: 1_767_261_600_000 + n,
  actor: 'engine',
  action: 'jobEnqueued',
  subject: `0x0${n}`,
  details: {},
  ...changes,
})

const texts = fc.string({ unit: 'binary', maxLength: 12 })
const keys = fc.oneof(texts, fc.constantFrom('__proto__', 'constructor', '', 'k'.repeat(24)))
const { details } = fc.letrec<{ value: CborValue; details: CborMap }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<CborValue>(null, true, false),
    fc.maxSafeInteger(),
    fc.bigInt(2n ** 53n, 2n ** 64n - 1n),
    texts,
    fc.uint8Array({ maxLength: 8 }),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('details'),
  ),
  details: fc
    .uniqueArray(fc.tuple(keys, tie('value')), { maxLength: 4, selector: ([key]) => key })
    .map((entries): CborMap => Object.fromEntries(entries)),
}))
const records: fc.Arbitrary<AuditRecord> = fc.record({
  at: fc.nat({ max: 4_000_000_000_000 }),
  actor: texts,
  action: texts,
  subject: texts,
  details,
})
const chains = fc.array(records, { minLength: 1, maxLength: 6 }).map((list) => chainOf(list))

describe('appending', () => {
  it('AUDIT-1: the hash is SHA3 over the hash before and the canonical CBOR of the entry', () => {
    fc.assert(
      fc.property(chains, (entries) => {
        for (const [i, entry] of entries.entries()) {
          expect(entry.seq).toBe(i + 1)
          expect(entry.prevHash).toBe(i === 0 ? ZERO_HASH : entries[i - 1]?.hash)
          expect(entry.hash).toBe(naiveHash(entry))
        }
      }),
    )
  })

  it('AUDIT-1: the first entry of the specification has the hash that it gives', () => {
    const entry = appendAudit(EMPTY_AUDIT, record(1))
    expect(entry).toEqual({
      ...record(1),
      at: 1_767_261_600_001,
      seq: 1,
      prevHash: ZERO_HASH,
      hash: entry.hash,
    })
    expect(appendAudit(EMPTY_AUDIT, { ...record(1), at: 1_767_261_600_000 }).hash).toBe(
      '0x93dd4b288afebbb7167e433f8324d3a2d2ad9d7abbbfc7f8013c1c5caa54529b',
    )
  })

  it('AUDIT-1: the order of keys in details does not matter, and the record is not changed', () => {
    const one = record(1, { details: { b: 1, a: { d: 2, c: 3 } } })
    const other = record(1, { details: { a: { c: 3, d: 2 }, b: 1 } })
    const before = JSON.stringify(one)
    const entry = appendAudit(EMPTY_AUDIT, Object.freeze(one))
    expect(entry.hash).toBe(appendAudit(EMPTY_AUDIT, other).hash)
    expect(JSON.stringify(one)).toBe(before)
    // What an entry does not have must not get in by way of the record.
    expect(Object.keys(entry).sort()).toEqual(
      ['action', 'actor', 'at', 'details', 'hash', 'prevHash', 'seq', 'subject'].sort(),
    )
  })

  it('AUDIT-1: text that looks like hex is text', () => {
    const asText = record(1, { details: { id: '0x00ff' } })
    const asBytes = record(1, { details: { id: Uint8Array.of(0, 255) } })
    expect(appendAudit(EMPTY_AUDIT, asText).hash).not.toBe(appendAudit(EMPTY_AUDIT, asBytes).hash)
  })

  it.each([
    ['a float', { fee: 1.5 }],
    ['a marked float', { fee: new CborFloat(1) }],
    ['a float of zero', { fee: new CborFloat(0) }],
    ['a float in a list', { fees: [1, [2, 0.1]] }],
    ['a float in an object', { a: { b: { c: -0.5 } } }],
    ['a float under __proto__', JSON.parse('{"__proto__": 1.5}')],
    ['NaN', { n: Number.NaN }],
    ['an infinity', { n: Number.POSITIVE_INFINITY }],
    ['a subnormal', { n: 5e-324 }],
  ] as [string, CborMap][])('AUDIT-5: details with %s are refused, naming details', (_, wrong) => {
    expect(() => appendAudit(EMPTY_AUDIT, record(1, { details: wrong }))).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field: 'details' } }),
    )
  })

  it.each([
    ['whole numbers', { n: 5, m: -3, zero: 0 }],
    ['minus zero', { n: -0 }],
    ['large integers', { n: 2n ** 64n - 1n, m: 2 ** 53 - 1 }],
    ['bytes', { b: Uint8Array.of(1) }],
    ['text that looks like a float', { n: '1.5' }],
  ] as [string, CborMap][])('AUDIT-5: details with %s are taken', (_, right) => {
    const entries = chainOf([record(1, { details: right })])
    expect(brokenSeq(entries)).toBeNull()
  })

  it.each([
    [{ at: 1.5 }],
    [{ at: Number.NaN }],
    [{ actor: 'a\ud800' }],
    [{ details: { a: undefined } }],
    [{ details: { a: 2 ** 53 } }],
    [{ details: { a: () => 1 } }],
  ] as unknown as [Partial<AuditRecord>][])(
    'AUDIT-1: a record that is not whole milliseconds, text and a map is refused: %o',
    (wrong) => {
      expect(() => appendAudit(EMPTY_AUDIT, record(1, wrong))).toThrow(
        expect.objectContaining({ code: 'InvalidParams' }),
      )
    },
  )

  it.each([[null], [[]], [[1]], ['text'], [5], [undefined]])(
    'AUDIT-5: details of %j are no map and are refused',
    (wrong) => {
      const written = { ...record(1), details: wrong } as unknown as AuditRecord
      expect(() => appendAudit(EMPTY_AUDIT, written)).toThrow(
        expect.objectContaining({ code: 'InvalidParams' }),
      )
    },
  )

  it('AUDIT-5: details nested without end are refused without a crash', () => {
    let deep: CborValue = 1
    for (let i = 0; i < 50_000; i++) deep = [deep]
    expect(() => appendAudit(EMPTY_AUDIT, record(1, { details: { deep } }))).toThrow(FairleadError)
  })
})

describe('checking', () => {
  it('AUDIT-2: a chain that was only appended to holds, as a whole and from any entry on', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (entries, place) => {
        expect(brokenSeq(entries)).toBeNull()
        const at = place % entries.length
        expect(brokenSeq(entries.slice(at + 1), entries[at])).toBeNull()
        // A chain cut off at its end holds too: only its head can tell that something is missing.
        expect(brokenSeq(entries.slice(0, at))).toBeNull()
      }),
    )
    expect(brokenSeq([])).toBeNull()
    expect(brokenSeq(new Set(chainOf([record(1), record(2)])))).toBeNull()
  })

  type Change = (entry: AuditEntry) => AuditEntry
  const hexChanged = (hash: string): string => (hash.endsWith('0') ? '1' : '0')
  const CHANGES: readonly [string, Change][] = [
    ['seq', (e) => ({ ...e, seq: e.seq + 1 })],
    ['seq', (e) => ({ ...e, seq: 0 })],
    ['at', (e) => ({ ...e, at: e.at + 1 })],
    ['actor', (e) => ({ ...e, actor: `${e.actor}x` })],
    ['action', (e) => ({ ...e, action: `${e.action}x` })],
    ['subject', (e) => ({ ...e, subject: `${e.subject}\0` })],
    ['actor and action', (e) => ({ ...e, actor: `${e.actor}${e.action}`, action: 'x' })],
    ['details', (e) => ({ ...e, details: { ...e.details, extra: null } })],
    ['details', (e) => ({ ...e, details: { nested: e.details } })],
    [
      'prevHash',
      (e) => ({ ...e, prevHash: `${e.prevHash.slice(0, -1)}${hexChanged(e.prevHash)}` }),
    ],
    ['prevHash', (e) => ({ ...e, prevHash: `${e.prevHash}00` })],
    ['prevHash', (e) => ({ ...e, prevHash: '' })],
    ['hash', (e) => ({ ...e, hash: `${e.hash.slice(0, -1)}${hexChanged(e.hash)}` })],
    ['hash', (e) => ({ ...e, hash: e.hash.slice(2) })],
    ['hash', (e) => ({ ...e, hash: e.hash.toUpperCase() })],
    ['hash', (e) => ({ ...e, hash: '' })],
  ]
  it.each(CHANGES)('AUDIT-2: any change of %s is found at its own seq', (_, change) => {
    fc.assert(
      fc.property(chains, fc.nat(), (entries, place) => {
        const at = place % entries.length
        const changed = entries.map((entry, i) => (i === at ? change(entry) : entry))
        expect(brokenSeq(changed)).toBe(at + 1)
      }),
      { numRuns: 15 },
    )
  })

  it('AUDIT-2: a change with its own hash made anew is found at the next entry', () => {
    fc.assert(
      fc.property(chains, fc.nat(), records, (entries, place, forged) => {
        const at = place % entries.length
        const entry = entries[at] as AuditEntry
        const again = { ...forged, seq: entry.seq, prevHash: entry.prevHash }
        const changed = [...entries]
        changed[at] = { ...again, hash: naiveHash(again) }
        fc.pre(changed[at]?.hash !== entry.hash)
        expect(brokenSeq(changed)).toBe(at === entries.length - 1 ? null : at + 2)
      }),
    )
  })

  it('AUDIT-2: a removed entry is found at its seq, unless it was the last', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (entries, place) => {
        const at = place % entries.length
        const rest = entries.filter((_, i) => i !== at)
        expect(brokenSeq(rest)).toBe(at === entries.length - 1 ? null : at + 1)
      }),
    )
  })

  it('AUDIT-2: two entries that changed places are found at the first of them', () => {
    fc.assert(
      fc.property(chains, fc.nat(), fc.nat(), (entries, one, other) => {
        const [i, k] = [one % entries.length, other % entries.length]
        fc.pre(i < k)
        const swapped = [...entries]
        swapped[i] = entries[k] as AuditEntry
        swapped[k] = entries[i] as AuditEntry
        expect(brokenSeq(swapped)).toBe(i + 1)
      }),
    )
  })

  it('AUDIT-2: a repeated entry is found where it stands the second time', () => {
    fc.assert(
      fc.property(chains, fc.nat(), fc.nat(), (entries, one, other) => {
        const [from, to] = [one % entries.length, other % (entries.length + 1)]
        const repeated = entries.toSpliced(to, 0, entries[from] as AuditEntry)
        // Put in right beside itself, it is the later of the two that is one too many.
        expect(brokenSeq(repeated)).toBe(to === from ? to + 2 : to + 1)
      }),
    )
  })

  it('AUDIT-2: whatever is done to a chain, the answer is that of a naive check', () => {
    const edits = fc.array(
      fc.tuple(fc.constantFrom('drop', 'twice', 'swap', 'change'), fc.nat(), fc.nat()),
      {
        maxLength: 3,
      },
    )
    fc.assert(
      fc.property(chains, edits, (entries, steps) => {
        const list = [...entries]
        for (const [edit, one, other] of steps) {
          if (list.length === 0) break
          const [i, k] = [one % list.length, other % list.length]
          const entry = list[i] as AuditEntry
          if (edit === 'drop') list.splice(i, 1)
          else if (edit === 'twice') list.splice(k, 0, entry)
          else if (edit === 'change') list[i] = (CHANGES[other % 9] as [string, Change])[1](entry)
          else {
            list[i] = list[k] as AuditEntry
            list[k] = entry
          }
        }
        expect(brokenSeq(list)).toBe(naiveBroken(list))
      }),
      { numRuns: 200 },
    )
  })

  it('AUDIT-2: a chain of another log is broken at its first entry', () => {
    const foreign = chainOf([record(1), record(2), record(3)])
    const own = chainOf([record(4)])
    expect(brokenSeq(foreign.slice(1))).toBe(1)
    expect(brokenSeq(foreign.slice(1), own[0])).toBe(2)
    expect(brokenSeq(foreign, own[0])).toBe(2)
    expect(brokenSeq(foreign.slice(2), { seq: 2, hash: ZERO_HASH })).toBe(3)
  })

  it('AUDIT-2: a number that is not the next is found, even where every hash fits', () => {
    for (const wrong of [0, 1, 3, 7, -2]) {
      const entries = chainOf([record(1)])
      const forged = { ...record(2), seq: wrong, prevHash: (entries[0] as AuditEntry).hash }
      entries.push({ ...forged, hash: naiveHash(forged) })
      entries.push(appendAudit(entries[1] as AuditEntry, record(3)))
      expect(brokenSeq(entries)).toBe(2)
    }
  })

  it('AUDIT-2: entries 1, 2, 4 are broken at 3', () => {
    const entries = chainOf([1, 2, 3, 4].map((n) => record(n)))
    expect(brokenSeq(entries.filter(({ seq }) => seq !== 3))).toBe(3)
  })

  it.each([
    ['a float', { fee: 1.5 }],
    ['a lone surrogate', { text: '\ud800' }],
    ['undefined', { a: undefined }],
    ['a function', { a: () => 1 }],
  ])('AUDIT-2: an entry with %s could not have been written and is broken', (_, wrong) => {
    const entries = chainOf([record(1), record(2), record(3)])
    entries[1] = { ...(entries[1] as AuditEntry), details: wrong as unknown as CborMap }
    expect(brokenSeq(entries)).toBe(2)
  })

  it('AUDIT-2: an entry nested without end is broken, and the check does not crash on it', () => {
    const entries = chainOf([record(1), record(2)])
    let deep: CborValue = 1
    for (let i = 0; i < 50_000; i++) deep = [deep]
    entries[1] = { ...(entries[1] as AuditEntry), details: { deep } }
    expect(brokenSeq(entries)).toBe(2)
  })
})
