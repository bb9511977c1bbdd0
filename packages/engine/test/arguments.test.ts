import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { U64_MAX } from '@fairlead/core/internal'
import { decodeBatch, type Engine, EngineState, encodeBatch, openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACME, ATLAS, DIGEST, OFFER } from './rig.ts'

/** What plain JavaScript may put in any place. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  1.5,
  Number.NaN,
  '',
  'x',
  '\ud800',
  {},
  [],
  [null],
  Symbol('odd'),
  1n,
  -1n,
  true,
  () => {},
  { toString: null },
]

const TASK = { kind: 'task', payload: { name: 'resize', args: {} } }
const EVENT = { platform: 'p', orgRef: 'o', eventId: 'e' }
const TERMS = {
  ...OFFER,
  platforms: new Set<string>(),
  maxDepth: 1,
  maxShots: 1,
  region: 'eu',
  allow: null,
  deny: new Set<string>(),
  leasesMax: 1,
}
const HELD = { leaseId: DIGEST, by: ATLAS, workerId: 'w' }
const LISTENER = { offer() {}, held() {}, lost() {}, closed() {} }

/** Every call of an engine with good arguments, each of which is put out of place in turn. */
// biome-ignore format: one call a line
const CALLS: Readonly<Record<string, readonly [(engine: Engine) => (...args: never[]) => unknown, readonly unknown[]]>> = {
  enqueue: [(e) => e.enqueue.bind(e), [{ ...TASK, idempotency_key: 'k', regions: null, max_fee_u64: 1, ttl_abs_secs: 5 }, { caller: ACME, tier: 'FREE' }, { retryOf: DIGEST, traceparent: 'x' }]],
  enqueueMany: [(e) => e.enqueueMany.bind(e), [[TASK], { caller: ACME }]],
  cancel: [(e) => e.cancel.bind(e), [DIGEST, ACME, { actor: 'a' }]],
  getJob: [(e) => e.getJob.bind(e), [DIGEST]],
  getResult: [(e) => e.getResult.bind(e), [DIGEST]],
  timeline: [(e) => e.timeline.bind(e), [DIGEST]],
  explain: [(e) => e.explain.bind(e), [DIGEST]],
  listJobs: [(e) => e.listJobs.bind(e), [{ status: 'QUEUED', kind: 'task', providerId: ATLAS, caller: ACME, afterHeight: 0n, cursor: 0, limit: 1, order: 'oldest' }]],
  registerProvider: [(e) => e.registerProvider.bind(e), ['provider:new', TERMS, 0n, { actor: 'a' }]],
  updateProvider: [(e) => e.updateProvider.bind(e), [ATLAS, TERMS, { actor: 'a' }]],
  heartbeat: [(e) => e.heartbeat.bind(e), [ATLAS]],
  setProviderStatus: [(e) => e.setProviderStatus.bind(e), [ATLAS, 'ACTIVE', { actor: 'a' }]],
  stake: [(e) => e.stake.bind(e), [ATLAS, 1n, { actor: 'a' }]],
  setPolicy: [(e) => e.setPolicy.bind(e), [{}, 'queue', { actor: 'a' }]],
  setOpening: [(e) => e.setOpening.bind(e), [EVENT, 4_000_000_000_000, { actor: 'a' }]],
  releasePlace: [(e) => e.releasePlace.bind(e), [EVENT, DIGEST, ACME, { actor: 'a' }]],
  ack: [(e) => e.ack.bind(e), [HELD]],
  renew: [(e) => e.renew.bind(e), [HELD]],
  decline: [(e) => e.decline.bind(e), [HELD]],
  release: [(e) => e.release.bind(e), [HELD]],
  complete: [(e) => e.complete.bind(e), [{ ...HELD, digest: DIGEST, output: new Uint8Array(), meta: Uint8Array.of(0xa0), actualUnits: 1, actualTokens: 1 }]],
  fail: [(e) => e.fail.bind(e), [{ ...HELD, code: 'x', permanent: false, http: 500, retryAfterMs: 1, isUnknown: false, isUnsent: false, sentAfterMs: 1, lookup: 'booked' }]],
  onEvent: [(e) => e.onEvent.bind(e), [() => {}, 0]],
  pruneAudit: [(e) => e.pruneAudit.bind(e), [0, { actor: 'a' }]],
  note: [(e) => e.note.bind(e), [{ type: 'accessRefused', subject: 's', by: 'b', reason: 'r', attempts: 1 }, { actor: 'a' }]],
  noteTokens: [(e) => e.noteTokens.bind(e), [[{ id: 'a', digest: 'd', isRevoked: false, role: 'admin', holder: 'h', scope: '', expiresAt: null }], { actor: 'a' }]],
  'limiter.define': [({ limiter }) => limiter.define.bind(limiter), [{ key: 'k', kind: 'fixed', capacity: 5, windowSecs: 5, overage: 'debt' }, { actor: 'a' }]],
  'limiter.get': [({ limiter }) => limiter.get.bind(limiter), ['k']],
  'limiter.reserve': [({ limiter }) => limiter.reserve.bind(limiter), [{ leaseId: 'l', requirements: [{ key: 'k', amount: 1 }] }]],
  'limiter.complete': [({ limiter }) => limiter.complete.bind(limiter), [{ leaseId: 'l', actuals: [{ key: 'k', amount: 1 }] }]],
  'limiter.reserveMany': [({ limiter }) => limiter.reserveMany.bind(limiter), [[{ leaseId: 'l', requirements: [{ key: 'k', amount: 1 }] }]]],
  'leaseSource.open': [(e) => { const source = e.leaseSource(); return source.open.bind(source) }, [{ providerId: ATLAS, workerId: 'w', slots: 0, holds: null, offer: { kinds: ['task'], models: ['*'], platforms: [] } }, LISTENER]],
}

/** The arguments, each of them and each of their fields replaced by each odd value. */
function* outOfPlace(args: readonly unknown[]): Generator<readonly unknown[]> {
  for (const odd of ODD) {
    for (const [i, arg] of args.entries()) {
      yield args.with(i, odd)
      const isRecord = typeof arg === 'object' && arg !== null && !Array.isArray(arg)
      for (const key of isRecord ? Object.keys(arg) : []) {
        yield args.with(i, { ...(arg as object), [key]: odd })
      }
    }
  }
}

/** Every batch is recorded as well: one that cannot be would fail all its calls. */
function recordAll(): void {
  const { prototype } = EngineState
  const { takeOutcome } = prototype as { readonly takeOutcome: unknown } as typeof prototype
  prototype.takeOutcome = function recorded(this: EngineState) {
    const outcome = takeOutcome.call(this)
    decodeBatch(encodeBatch(outcome.commands))
    return outcome
  }
}

describe('arguments that are no such thing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-arguments-'))
  const path = join(folder, 'fairlead.db')
  let engine: Engine

  beforeAll(async () => {
    recordAll()
    engine = await openEngine({ store: openSqliteStore(path) })
    await engine.registerProvider(ATLAS, OFFER)
  })
  afterAll(async () => {
    await engine.close()
    rmSync(folder, { recursive: true })
  })

  it.each(Object.keys(CALLS))(
    'ENGINE-11, COMMAND-2: %s refuses them by a FairleadError, harms nobody, and can be recorded',
    async (name) => {
      const [method, args] = CALLS[name] as (typeof CALLS)[string]
      const answers = [...outOfPlace(args)].map(async (given) => {
        const bad = Promise.resolve((method(engine) as (...args: unknown[]) => unknown)(...given))
        // In the same batch.
        const good = engine.enqueue(TASK, { caller: ACME })
        const refusal = await bad.then(
          () => null,
          (error: unknown) => error,
        )
        await good
        if (refusal === null) return
        expect(refusal).toBeInstanceOf(FairleadError)
        expect((refusal as FairleadError).code).not.toMatch(/StoreUnavailable|Internal/)
      })
      await Promise.all(answers)
    },
  )

  it('ENGINE-11: after all of them the store opens again', async () => {
    await engine.close()
    engine = await openEngine({ store: openSqliteStore(path) })
    expect(await engine.enqueue(TASK, { caller: ACME })).toMatch(/^0x/)
  })

  it('ENGINE-11: a refusal names the field and what was expected', async () => {
    const stake = engine.stake(ATLAS, '5' as unknown as bigint)
    await expect(stake).rejects.toMatchObject({
      code: 'InvalidParams',
      message: 'amount_u64: expected a bigint from 0 to 2^64 − 1',
      details: { field: 'amount_u64' },
    })
    const typo = engine.listJobs({ provider_id: ATLAS } as object)
    await expect(typo).rejects.toMatchObject({ details: { field: 'provider_id' } })
  })

  it('ENGINE-11: a term of an offer that is undefined is left as it is', async () => {
    const changes = { region: undefined, leasesMax: 3 } as unknown as { leasesMax: number }
    await engine.updateProvider(ATLAS, { region: 'eu' })
    await engine.updateProvider(ATLAS, changes)
    expect(engine.view.provider(ATLAS)?.offer).toMatchObject({ region: 'eu', leasesMax: 3 })
  })

  it('ENGINE-11: what a giver does to its sets afterwards is no change of its offer', async () => {
    const models = new Set(['mine'])
    await engine.updateProvider(ATLAS, { models })
    models.add('sneaked in')
    expect([...(engine.view.provider(ATLAS)?.offer.models ?? [])]).toEqual(['mine'])
  })

  it('REGISTRY-2: a stake of more than 2^64 − 1 is LimitExceeded, and the stake stays as it was', async () => {
    const { stake: before = 0n } = engine.view.provider(ATLAS) ?? {}
    expect(await engine.stake(ATLAS, U64_MAX - before)).toBe(U64_MAX)
    const more = engine.stake(ATLAS, 1n)
    await expect(more).rejects.toMatchObject({
      code: 'LimitExceeded',
      details: { limit: 'amount_u64', max: '0', observed: '1' },
    })
    expect(engine.view.provider(ATLAS)?.stake).toBe(U64_MAX)
  })
})
