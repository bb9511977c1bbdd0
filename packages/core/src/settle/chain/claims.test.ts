import fc from 'fast-check'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { acceptedProof, hash32 } from '../../../test/any-fund.ts'
import { claimKey, type JobId } from '../../encoding/ids.ts'
import { FairleadError } from '../../errors.ts'
import type { ProofVerdict } from '../proof/check-proof.ts'
import type { Block, ClaimEvent, ClaimTerms } from './claim.ts'
import { Claims } from './claims.ts'

const T = 1_764_000_000_000
const ALONE: ClaimTerms = {
  hasChain: false,
  finalityK: 12,
  proofTimeoutMs: 600_000,
  minerId: 'operator',
}
const CHAIN: ClaimTerms = { ...ALONE, hasChain: true, finalityK: 3 }

const job = (n: number): JobId => acceptedProof(n).taskId
const accepted = (n: number): ProofVerdict => ({ accepted: acceptedProof(n), error: null })
const TRAPS = { shots: 100n, passed: 1n }
const refused = (n: number, isProofInvalid = false): ProofVerdict => ({
  accepted: null,
  error: new FairleadError('AttestationError', 'x', { reason: isProofInvalid ? 'traps' : 'x' }),
  taskId: job(n),
  failedTraps: isProofInvalid ? TRAPS : null,
})

function complete(claims: Claims, n: number, since = T): void {
  const { taskId, leaseId, kind } = acceptedProof(n)
  claims.complete({ taskId, leaseId, kind, since, unitMs: n })
}

function block(height: number, ns: readonly number[] = [], timeMs = T): Block<number> {
  const proofs = ns.map((item) => ({ item, txHash: hash32(`tx ${item}`) }))
  return { height, timeMs, minerId: 'm1', proofs }
}

/** Events in short: their type and the number of their job. */
function brief(events: readonly ClaimEvent[]): string[] {
  const numbers = new Map(Array.from({ length: 10 }, (_, n) => [job(n), n]))
  return events.map(({ type, taskId }) => `${type} ${numbers.get(taskId as JobId)}`)
}

const code = (name: string) => expect.objectContaining({ code: name })

let claims: Claims
beforeEach(() => {
  claims = new Claims()
})

describe('without a chain', () => {
  it('CLAIM-2: a proof is in the block of its second, and FINAL at once', () => {
    complete(claims, 1)
    const answer = claims.submit(ALONE, T + 1_999, () => accepted(1))
    const claim = {
      ...acceptedProof(1),
      blockHeight: T / 1_000 + 1,
      place: 0,
      txHash: acceptedProof(1).envelopeHash,
      minerId: 'operator',
      unitMs: 1,
      claimKey: claimKey({
        taskId: job(1),
        height: T / 1_000 + 1,
        nullifier: Buffer.from(acceptedProof(1).nullifier.slice(2), 'hex'),
      }),
    }
    expect(answer).toEqual({
      error: null,
      events: [
        { type: 'accepted', taskId: job(1), claim },
        { type: 'final', taskId: job(1), claim, finalizedHeight: claim.blockHeight },
      ],
    })
    expect(claims.state()).toEqual({ awaits: [], pending: [], head: null, finalHeight: null })
  })

  it('CLAIM-2: there are no blocks, and with a chain there is no submitProof', () => {
    expect(() => claims.applyBlock(ALONE, T, block(1), accepted)).toThrow(code('InvalidState'))
    expect(() => claims.submit(CHAIN, T, () => accepted(1))).toThrow(code('InvalidState'))
  })

  it('PROOF-7: a refused proof changes nothing, and another may be sent', () => {
    complete(claims, 1)
    const before = claims.state()
    const { error, events } = claims.submit(ALONE, T, () => refused(1))
    expect([error?.code, events]).toEqual(['AttestationError', []])
    expect(claims.state()).toEqual(before)
    expect(brief(claims.submit(ALONE, T, () => accepted(1)).events)).toEqual([
      'accepted 1',
      'final 1',
    ])
  })

  it('PROOF-7: failed traps end the wait at once', () => {
    complete(claims, 1)
    const { error, events } = claims.submit(ALONE, T + 5, () => refused(1, true))
    expect(error?.code).toBe('AttestationError')
    const { leaseId } = acceptedProof(1)
    expect(events).toEqual([
      { type: 'proofInvalid', taskId: job(1), leaseId, reason: 'traps', traps: TRAPS, at: T + 5 },
    ])
    expect(claims.awaitOf(job(1))).toBeNull()
  })

  it('CLAIM-6: a proof is overdue exactly at its timeout, each at its own time', () => {
    complete(claims, 2, T + 1)
    complete(claims, 1, T)
    complete(claims, 0, T + 1)
    expect(claims.nextDueAt(ALONE)).toBe(T + 600_000)
    expect(claims.expire(ALONE, T + 599_999)).toEqual([])
    expect(claims.expire(ALONE, T + 600_000)).toMatchObject([
      { taskId: job(1), reason: 'timeout', at: T + 600_000 },
    ])
    const both = [job(0), job(2)].sort()
    const rest = claims.expire(ALONE, T + 999_999)
    expect(rest).toMatchObject(both.map((taskId) => ({ taskId, at: T + 600_001 })))
    expect(claims.nextDueAt(ALONE)).toBeNull()
  })

  it('CLAIM-6: downtime of the dispatcher moves the timeout', () => {
    complete(claims, 1)
    claims.shift(1_000)
    expect(claims.expire(ALONE, T + 600_999)).toEqual([])
    expect(brief(claims.expire(ALONE, T + 601_000))).toEqual(['proofInvalid 1'])
  })
})

describe('the claim of a job', () => {
  it('CLAIM-1: a job has an await or a claim, never two', () => {
    complete(claims, 1)
    expect(() => complete(claims, 1)).toThrow(code('InvalidState'))
    claims.applyBlock(CHAIN, T, block(10, [1]), accepted)
    expect(claims.awaitOf(job(1))).toBeNull()
    expect(claims.claimOf(job(1))).toMatchObject({ blockHeight: 10, place: 0, minerId: 'm1' })
    expect(claims.isPending(acceptedProof(1).nullifier)).toBe(true)
    expect(() => complete(claims, 1)).toThrow(code('InvalidState'))
  })

  it('CLAIM-1: with a claim a job cannot be cancelled, before and after it can', () => {
    complete(claims, 1)
    complete(claims, 2)
    claims.applyBlock(CHAIN, T, block(10, [1]), accepted)
    expect(() => claims.cancel(job(1))).toThrow(code('InvalidState'))
    claims.cancel(job(2))
    expect(claims.awaitOf(job(2))).toBeNull()
    claims.applyBlock(CHAIN, T, block(10), accepted)
    claims.cancel(job(1))
    expect(claims.state()).toMatchObject({ awaits: [], pending: [] })
  })

  it('CLAIM-1: while it has one its timeout does not run', () => {
    complete(claims, 1)
    claims.applyBlock(CHAIN, T, block(10, [1]), accepted)
    const late = T + 10_000_000
    expect(brief(claims.applyBlock(CHAIN, late, block(11, [], late), accepted))).toEqual([])
  })
})

describe('with a chain', () => {
  it('CLAIM-3: the first block has any height, later ones follow the head', () => {
    for (const wrong of [-1, 0.5, Number.NaN]) {
      expect(() => claims.applyBlock(CHAIN, T, block(wrong), accepted)).toThrow(
        code('InvalidParams'),
      )
    }
    claims.applyBlock(CHAIN, T, block(100), accepted)
    expect(() => claims.applyBlock(CHAIN, T, block(102), accepted)).toThrow(code('InvalidParams'))
    claims.applyBlock(CHAIN, T, block(101), accepted)
    expect(claims.chain).toEqual({ head: 101, finalHeight: 98 })
  })

  it('CLAIM-3: its time counts as at most now, for its proofs too', () => {
    const times: number[] = []
    const check = (_: number, at: number) => {
      times.push(at)
      return refused(1)
    }
    claims.applyBlock(CHAIN, T, block(1, [1], T + 999_999), check)
    claims.applyBlock(CHAIN, T, block(2, [1], T - 5), check)
    expect(times).toEqual([T, T - 5])
  })

  it('CLAIM-3: a refused proof is an event with its place, and no more', () => {
    complete(claims, 2)
    const check = (n: number) => (n === 1 ? refused(n) : accepted(n))
    const events = claims.applyBlock(CHAIN, T, block(1, [1, 2]), check)
    expect(events).toMatchObject([
      { type: 'refused', place: 0, error: { code: 'AttestationError' } },
      { type: 'accepted', claim: { place: 1, txHash: hash32('tx 2') } },
    ])
  })

  it('CLAIM-5: a claim is FINAL k blocks later, in the order of block and place', () => {
    for (const n of [3, 1, 2]) complete(claims, n)
    claims.applyBlock(CHAIN, T, block(10, [3, 1]), accepted)
    claims.applyBlock(CHAIN, T, block(11, [2]), accepted)
    expect(claims.applyBlock(CHAIN, T, block(12), accepted)).toEqual([])
    const final = claims.applyBlock(CHAIN, T, block(13), accepted)
    expect(brief(final)).toEqual(['final 3', 'final 1'])
    expect(final[0]).toMatchObject({ finalizedHeight: 13 })
    expect(brief(claims.applyBlock(CHAIN, T, block(14), accepted))).toEqual(['final 2'])
  })

  it('CLAIM-5: nothing up to the final height is undone, also after a shorter branch', () => {
    for (const height of [10, 11, 12, 13, 11]) claims.applyBlock(CHAIN, T, block(height), accepted)
    expect(claims.chain).toEqual({ head: 11, finalHeight: 10 })
    expect(() => claims.applyBlock(CHAIN, T, block(10), accepted)).toThrow(code('InvalidState'))
    expect(claims.chain).toEqual({ head: 11, finalHeight: 10 })
  })

  it('CLAIM-5: a larger finality_k makes nothing undone that is final', () => {
    for (const height of [10, 11]) claims.applyBlock(CHAIN, T, block(height), accepted)
    claims.applyBlock({ ...CHAIN, finalityK: 9 }, T, block(12), accepted)
    expect(claims.chain.finalHeight).toBe(8)
  })

  it('CLAIM-4: a reorganisation drops the last claims first; their jobs await the same lease', () => {
    for (const n of [1, 2, 3]) complete(claims, n)
    claims.applyBlock(CHAIN, T, block(10, [1]), accepted)
    claims.applyBlock(CHAIN, T, block(11, [2, 3]), accepted)
    const later = T + 700_000
    const events = claims.applyBlock(CHAIN, later, block(11, [2]), accepted)
    expect(brief(events)).toEqual(['dropped 3', 'dropped 2', 'accepted 2'])
    const { leaseId } = acceptedProof(3)
    expect(claims.awaitOf(job(3))).toMatchObject({ leaseId, since: later })
    expect(claims.isPending(acceptedProof(3).nullifier)).toBe(false)
    expect(claims.claimOf(job(1))).not.toBeNull()
  })

  it('CLAIM-6: only blocks tell that a proof is overdue, by task id', () => {
    for (const n of [1, 2, 3]) complete(claims, n, T + n)
    expect(claims.nextDueAt(CHAIN)).toBeNull()
    expect(claims.expire(CHAIN, T + 10_000_000)).toEqual([])
    const late = T + 10_000_000
    expect(claims.applyBlock(CHAIN, late, block(10, [], T + 600_000), accepted)).toEqual([])
    const events = claims.applyBlock(CHAIN, late, block(11, [], T + 600_003), accepted)
    const ordered = [job(1), job(2), job(3)].sort()
    expect(events.map(({ taskId }) => taskId)).toEqual(ordered)
    expect(events[0]).toMatchObject({ reason: 'timeout', at: T + 600_003 })
  })

  it('CLAIM-6: a proof in the block at its timeout is in time', () => {
    complete(claims, 1)
    const at = T + 600_000
    expect(brief(claims.applyBlock(CHAIN, at, block(10, [1], at), accepted))).toEqual([
      'accepted 1',
    ])
  })
})

type Step =
  | { readonly op: 'complete'; readonly n: number }
  | { readonly op: 'cancel'; readonly n: number }
  | { readonly op: 'submit'; readonly n: number }
  | { readonly op: 'block'; readonly up: number; readonly ns: readonly number[] }
  | { readonly op: 'wait' }

const n = fc.nat(4)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ op: fc.constant('complete' as const), n }),
  fc.record({ op: fc.constant('cancel' as const), n }),
  fc.record({ op: fc.constant('submit' as const), n }),
  fc.record({
    op: fc.constant('block' as const),
    up: fc.integer({ min: -3, max: 2 }),
    ns: fc.array(n, { maxLength: 3 }),
  }),
  fc.record({ op: fc.constant('wait' as const) }),
)

/** The effect of a step on the claims, refusals included. The proof of an odd job may fail its traps. */
function run(target: Claims, step: Step, nowMs: number, terms: ClaimTerms): unknown {
  const check = (which: number): ProofVerdict => {
    const awaits = target.awaitOf(job(which))
    if (awaits === null) return refused(which)
    return which === 3 ? refused(which, true) : accepted(which)
  }
  try {
    if (step.op === 'wait') return target.expire(terms, nowMs)
    if (step.op === 'complete') return complete(target, step.n, nowMs)
    if (step.op === 'cancel') return target.cancel(job(step.n))
    if (step.op === 'submit') return target.submit(terms, nowMs, () => check(step.n))
    const height = (target.chain.head ?? 50) + step.up
    return target.applyBlock(terms, nowMs, block(height, step.ns, nowMs), check)
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
    return error.code
  }
}

test.each([ALONE, CHAIN])(
  'CLAIM-7: restored from its state at any point it goes on alike (%#)',
  (terms) => {
    const steps = fc.array(fc.tuple(anyStep, fc.nat(300_000)), { maxLength: 40 })
    fc.assert(
      fc.property(steps, fc.nat(40), (script, at) => {
        const one = new Claims()
        let other = new Claims()
        let nowMs = T
        script.forEach(([step, gap], i) => {
          nowMs += gap
          if (i === at) other = new Claims(structuredClone(one.state()))
          const events = run(one, step, nowMs, terms)
          if (i >= at) expect(run(other, step, nowMs, terms)).toEqual(events)
          if (i >= at) expect(other.state()).toEqual(one.state())
          // Invariants of CLAIM-1.
          const { awaits, pending } = one.state()
          const live = [...awaits, ...pending].map(({ taskId }) => taskId)
          expect(new Set(live).size).toBe(live.length)
          for (const claim of pending) expect(one.isPending(claim.nullifier)).toBe(true)
          const places = pending.map((claim) => claim.blockHeight * 10 + claim.place)
          expect(places.toSorted((a, b) => a - b)).toEqual(places)
        })
      }),
      { numRuns: 300 },
    )
  },
)
