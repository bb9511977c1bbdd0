import { describe, expect, it } from 'vitest'
import { WITH_HEARTBEATS, WITHOUT_HEALTH, World, type Written } from '../../test/world.ts'
import { REFUSALS } from '../match/eligibility.ts'
import { adviceOn, noticeOf } from './notice.ts'
import { PROVIDER_STATUSES, type ProviderStatus } from './standing/status.ts'

const noticed = ({ market, a }: World) => noticeOf(a, market.nowMs, market.policy)

describe('what workers hear', () => {
  it('WORKER-15: nothing where their provider may get work', () => {
    expect(noticed(new World())).toBeNull()
    expect(noticed(new World(WITHOUT_HEALTH, { byWorkers: true }))).toBeNull()
  })

  it.each(PROVIDER_STATUSES.filter((status) => status !== 'ACTIVE'))(
    'WORKER-15: that it is %s, and what to do about it',
    (status: ProviderStatus) => {
      const world = new World()
      world.a.status = status
      const notice = noticed(world)
      expect(notice?.reason).toBe('provider_not_active')
      expect(notice?.message).toContain(`${world.a.id} gets no work: it is ${status}`)
      const isFinal = status === 'RETIRED'
      expect(notice?.message.includes(`set-status ${world.a.id} ACTIVE`)).toBe(!isFinal)
    },
  )

  it('WORKER-15: a stake below the minimum, with both amounts', () => {
    const world = new World()
    world.a.stake = 59_999n
    expect(noticed(world)).toMatchObject({
      reason: 'stake_below_minimum',
      message: expect.stringMatching(/59999.*60000/),
    })
  })

  it('WORKER-15: a health below the minimum, with both figures', () => {
    const world = new World()
    world.a.health = 599
    expect(noticed(world)).toMatchObject({
      reason: 'unhealthy',
      message: expect.stringMatching(/599 of 1000.*600/),
    })
  })

  it.each<[string, Written, (world: World) => void]>([
    ['a cooldown', {}, ({ a }) => Object.assign(a, { cooldownUntil: 1 })],
    ['silence', WITH_HEARTBEATS, ({ a }) => Object.assign(a, { lastHeartbeat: -180_001 })],
    ['low health where there is none', WITHOUT_HEALTH, ({ a }) => Object.assign(a, { health: 0 })],
  ])('WORKER-15: nothing of %s, which passes by itself', (_, written, set) => {
    const world = new World(written)
    set(world)
    expect(noticed(world)).toBeNull()
  })

  it('WORKER-15: nothing where it gets work of one kind at least', () => {
    const required = (kinds: object) => ({ registry: { attestation_required: kinds } })
    const world = new World(required({ ai: true, quantum: true }))
    expect(noticed(world)).toBeNull()
    world.policy(required({ ai: true, quantum: true, task: true }))
    expect(noticed(world)?.reason).toBe('attestation_invalid')
    // It offers no registrations, so they do not count.
    world.a.attestation = { notBefore: 0, notAfter: 1 }
    world.policy(required({ registration: true }))
    expect(noticed(world)).toBeNull()
  })

  it('WORKER-15: nothing of a provider that offers no kind', () => {
    const world = new World()
    world.a.offer = { ...world.a.offer, capabilities: new Set() }
    world.a.status = 'SUSPENDED'
    expect(noticed(world)).toBeNull()
  })
})

describe('advice', () => {
  it('WORKER-15: is for the checks that somebody has to mend, and for no others', () => {
    const { a, market } = new World()
    const advised = REFUSALS.filter((reason) => adviceOn(reason, a, market.policy) !== null)
    expect(advised).toEqual([
      'provider_not_active',
      'attestation_invalid',
      'stake_below_minimum',
      'unhealthy',
    ])
  })
})
