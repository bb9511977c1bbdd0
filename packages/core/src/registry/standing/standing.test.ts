import { describe, expect, it } from 'vitest'
import { parsePolicy } from '../../policy/policy.ts'
import {
  admitted,
  type Credentials,
  JAILED_FOR_GOOD,
  jailed,
  NEW_STANDING,
  penaltyEnd,
  type Standing,
  setStanding,
  statusEndsAt,
  statusOf,
  suspended,
  withoutHealth,
} from './standing.ts'

const NOW = 1_764_000_000_000
const ACTIVE: Standing = { ...NEW_STANDING, admitted: true }
const status = (standing: Standing, nowMs = NOW) => statusOf(standing, nowMs)

describe('the status', () => {
  it('STANDING-1: it is the first that holds', () => {
    let standing: Standing = NEW_STANDING
    const seen = [status(standing)]
    for (const fact of [
      { admitted: true },
      { paused: true },
      { suspended: true },
      { jailedUntil: NOW + 1 },
      { retired: true },
    ]) {
      standing = { ...standing, ...fact }
      seen.push(status(standing))
    }
    expect(seen).toEqual(['REGISTERED', 'ACTIVE', 'PAUSED', 'SUSPENDED', 'JAILED', 'RETIRED'])
  })

  it('STANDING-1: jail ends by itself, and then the status is what it was', () => {
    const standing = { ...ACTIVE, jailedUntil: NOW + 10, suspended: true }
    expect([status(standing, NOW + 9), status(standing, NOW + 10)]).toEqual(['JAILED', 'SUSPENDED'])
    expect([statusEndsAt(standing, NOW), statusEndsAt(standing, NOW + 10)]).toEqual([
      NOW + 10,
      null,
    ])
    expect(statusEndsAt({ ...standing, retired: true }, NOW)).toBeNull()
    expect(statusEndsAt({ ...standing, jailedUntil: JAILED_FOR_GOOD }, NOW)).toBeNull()
  })
})

describe('admission', () => {
  const settings = {
    attestation_required: { ai: true },
    attestation_classes: {
      tee: { kinds: ['ai'], roots: [] },
      qpu: { kinds: ['quantum'], roots: [] },
    },
  }
  const policy = parsePolicy({ registry: settings }, 'fund')
  const tee = { notBefore: NOW, notAfter: NOW + 10, className: 'tee' }
  const admits = (credentials: Partial<Credentials>, nowMs = NOW): boolean => {
    const whole: Credentials = { kinds: ['ai'], stake: 10_000n, attestation: tee, ...credentials }
    return admitted(NEW_STANDING, whole, { nowMs, policy }).admitted
  }

  it.each<[string, Partial<Credentials>, boolean]>([
    ['enough of both', {}, true],
    ['too little stake', { stake: 9_999n }, false],
    ['no attestation', { attestation: null }, false],
    ['an attestation of another class', { attestation: { ...tee, className: 'qpu' } }, false],
    ['one of a class that is gone', { attestation: { ...tee, className: 'x' } }, false],
    ['one stored without a class', { attestation: { notBefore: NOW, notAfter: NOW + 1 } }, true],
    ['stake for one of two kinds', { kinds: ['ai', 'quantum'], stake: 59_999n }, false],
    ['stake for both', { kinds: ['ai', 'quantum'], stake: 60_000n }, true],
    ['an offer that needs nothing', { kinds: ['task'], stake: 0n, attestation: null }, true],
    ['an empty offer', { kinds: [], stake: 0n, attestation: null }, true],
  ])('STANDING-2: %s', (_, credentials, expected) => {
    expect(admits(credentials)).toBe(expected)
  })

  it('STANDING-2: the attestation is in force at that time', () => {
    expect([NOW - 1, NOW, NOW + 9, NOW + 10].map((at) => admits({}, at))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  it('STANDING-2: it is for good, whatever is missing later', () => {
    const poor = { kinds: ['ai' as const], stake: 0n, attestation: null }
    expect(admitted(ACTIVE, poor, { nowMs: NOW, policy })).toBe(ACTIVE)
  })

  it('STANDING-2: under jail or suspension a provider is admitted too', () => {
    const standing = admitted(
      { ...NEW_STANDING, suspended: true },
      { kinds: [], stake: 0n, attestation: null },
      { nowMs: NOW, policy },
    )
    expect([status(standing), standing.admitted]).toEqual(['SUSPENDED', true])
  })
})

describe("an operator's word", () => {
  const bad: Standing = { ...NEW_STANDING, suspended: true, paused: true, jailedUntil: NOW + 5 }

  it('STANDING-3: ACTIVE admits, and ends jail, suspension and pause', () => {
    expect(setStanding(bad, 'ACTIVE')).toEqual(ACTIVE)
  })

  it('STANDING-3: SUSPENDED ends jail, JAILED has no end, PAUSED waits behind both', () => {
    expect(status(setStanding(bad, 'SUSPENDED'))).toBe('SUSPENDED')
    expect(status(setStanding(ACTIVE, 'JAILED'), NOW + 1e12)).toBe('JAILED')
    expect(status(setStanding(ACTIVE, 'PAUSED'))).toBe('PAUSED')
    expect(status(setStanding(bad, 'PAUSED'))).toBe('JAILED')
    expect(status(setStanding(setStanding(ACTIVE, 'PAUSED'), 'ACTIVE'))).toBe('ACTIVE')
  })

  it('STANDING-3: REGISTERED is InvalidState, and so is everything after RETIRED', () => {
    const retired = setStanding(bad, 'RETIRED')
    expect(status(retired)).toBe('RETIRED')
    for (const [from, word] of [
      [ACTIVE, 'REGISTERED'],
      [retired, 'ACTIVE'],
      [retired, 'RETIRED'],
    ] as const) {
      expect(() => setStanding(from, word)).toThrow(
        expect.objectContaining({ code: 'InvalidState' }),
      )
    }
    for (const word of ['active', '', null, 5]) {
      expect(() => setStanding(ACTIVE, word)).toThrow(
        expect.objectContaining({ code: 'InvalidParams' }),
      )
    }
  })
})

describe('suspension and jail', () => {
  it('STANDING-4: health 0 suspends an ACTIVE provider only', () => {
    expect(status(withoutHealth(ACTIVE, NOW))).toBe('SUSPENDED')
    for (const standing of [
      NEW_STANDING,
      { ...ACTIVE, jailedUntil: NOW + 1 },
      { ...ACTIVE, paused: true },
      { ...ACTIVE, retired: true },
    ]) {
      expect(withoutHealth(standing, NOW)).toBe(standing)
    }
  })

  it('STANDING-4: a revoked attestation suspends in every status', () => {
    expect(suspended({ ...ACTIVE, jailedUntil: NOW + 1 }).suspended).toBe(true)
  })

  it('SLA-8: jail and cooldown last whole epochs from the close, and are never shortened', () => {
    const span = (epochs: number, nowMs = NOW) => ({ nowMs, epochs, epochSecs: 3_600 })
    const two = jailed(ACTIVE, span(2))
    expect(two.jailedUntil).toBe(NOW + 7_200_000)
    expect(jailed(two, span(1, NOW + 1)).jailedUntil).toBe(NOW + 7_200_000)
    expect(jailed(two, span(2, NOW + 1)).jailedUntil).toBe(NOW + 7_200_001)
    expect(jailed(two, span(0, NOW + 9e9))).toBe(two)
    expect(jailed(setStanding(ACTIVE, 'JAILED'), span(2)).jailedUntil).toBe(JAILED_FOR_GOOD)
    expect(penaltyEnd(null, span(0))).toBeNull()
    expect(penaltyEnd(NOW + 5, span(0))).toBe(NOW + 5)
    expect(penaltyEnd(null, { nowMs: NOW, epochs: 1_000_000, epochSecs: 31_536_000 })).toBe(
      JAILED_FOR_GOOD,
    )
  })
})
