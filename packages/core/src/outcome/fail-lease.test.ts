import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { WITHOUT_HEALTH, World, type Written } from '../../test/world.ts'
import type { Job } from '../market/job.ts'
import { backoffSecs } from './backoff.ts'

const DAY_MS = 86_400_000
const CAP_MS = 900_000

/** A job that fails at once and asks for this wait; when it is ready again. */
function readyAt(world: World, retryAfterMs: number | undefined): Job {
  return world.fail(world.run(), retryAfterMs === undefined ? {} : { retryAfterMs }).job
}

describe('retry_after_ms', () => {
  it.each<[string, Written, number]>([
    ['on', {}, CAP_MS],
    ['off', WITHOUT_HEALTH, DAY_MS],
  ])(
    'FAIL-4: with health %s the job waits as long as it asks, up to a limit',
    (_, written, max) => {
      for (const wanted of [60_000, max - 1, max, max + 1, 40 * DAY_MS]) {
        const world = new World(written)
        world.at(1_000)
        expect(readyAt(world, wanted).notBefore).toBe(1_000 + Math.min(wanted, max))
      }
    },
  )

  it('FAIL-4: the job does not wait less long than its backoff', () => {
    for (const wanted of [undefined, 0, 1, 3_999]) {
      const world = new World(WITHOUT_HEALTH)
      const job = readyAt(world, wanted)
      expect(job.notBefore).toBe(1_000 * backoffSecs('ai', job.id, 0, world.market.policy))
    }
  })

  it('FAIL-4: it is not longer than the cap of the backoff, as policy has that', () => {
    const world = new World({ queue: { retries: { backoff_cap_secs: 30 } } })
    expect(readyAt(world, DAY_MS).notBefore).toBe(30_000)
  })

  it('FAIL-4: it charges as any failure does, and prolongs no life', () => {
    const world = new World(WITHOUT_HEALTH)
    const lease = world.run({ job: world.enqueue({ ttlAbsSecs: 60 }) })
    const { job } = world.fail(lease, { retryAfterMs: 61_000 })
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1, notBefore: 61_000 })
    world.at(60_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs' })
  })

  it('FAIL-4: the next failure that asks for nothing waits for its backoff only', () => {
    const world = new World(WITHOUT_HEALTH)
    const job = readyAt(world, 600_000)
    world.at(600_000)
    world.fail(world.run({ job }))
    const secs = backoffSecs('ai', job.id, 1, world.market.policy)
    expect(job.notBefore).toBe(600_000 + 1_000 * secs)
  })

  test.prop([fc.nat(2 * DAY_MS), fc.nat(5), fc.boolean()])(
    'FAIL-4: it is ready at the later of the two, whatever both are',
    (wanted, retries, hasHealth) => {
      const world = new World(hasHealth ? {} : WITHOUT_HEALTH)
      world.policy({
        ...(hasHealth ? {} : WITHOUT_HEALTH),
        queue: { retries: { attempt_max: 1_000 } },
      })
      const job = world.enqueue()
      job.retries = retries
      world.fail(world.run({ job }), { retryAfterMs: wanted })
      const backoffMs = 1_000 * backoffSecs('ai', job.id, retries, world.market.policy)
      const longest = hasHealth ? CAP_MS : DAY_MS
      expect(job.notBefore).toBe(Math.max(backoffMs, Math.min(wanted, longest)))
    },
  )
})
