import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CborMap, decodeCbor, encodeCbor } from '../encoding/cbor.ts'
import { isErased, sealedIn, sealedPayload, withoutPeople } from './personal.ts'

const WHERE = { provider: 'bookeo', org_ref: 'north', event_id: 'swim', scheduled_time: 1_000 }
const SAID = encodeCbor({ ...WHERE, user_id: 'user-1', args: { child: 'Kim' } })
const OF_OTHER_KINDS = [
  { name: 'resize', args: { org_ref: 'north', sealed: 'no' } },
  { model: 'm', prompt: Uint8Array.of(1), max_tokens: 1, temperature: 0, qos_hint_ms: 0 },
  { shots: 1, circuit: Uint8Array.of(1), depth_hint: 0 },
]

describe('what registrations say of people', () => {
  it('AUDIT-10: where and when stay, and nothing else', () => {
    const left = withoutPeople(SAID)
    expect(decodeCbor(left)).toEqual(WHERE)
    expect([SAID, left].map(isErased)).toEqual([false, true])
    expect(withoutPeople(left)).toEqual(left)
  })

  it('AUDIT-9: a sealed one shows where and when, and has the rest under its seal', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (sealed) => {
        const stored = sealedPayload(SAID, sealed)
        const { sealed: inside, ...shown } = decodeCbor(stored) as CborMap
        expect(shown).toEqual(WHERE)
        expect(Buffer.from(inside as Uint8Array)).toEqual(Buffer.from(sealed))
        expect(Buffer.from(sealedIn(stored) ?? [1])).toEqual(Buffer.from(sealed))
        expect(isErased(stored)).toBe(false)
        expect(withoutPeople(stored)).toEqual(encodeCbor(WHERE))
      }),
    )
  })

  it('AUDIT-10: any other bytes are neither, and nothing is left of them', () => {
    for (const payload of [...OF_OTHER_KINDS.map((map) => encodeCbor(map)), SAID]) {
      expect([sealedIn(payload), isErased(payload)]).toEqual([null, false])
    }
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(sealedIn(bytes)).toBeNull()
        expect(decodeCbor(withoutPeople(bytes))).toEqual({})
      }),
    )
  })
})
