import { describe, expect, it } from 'vitest'
import { World } from '../../test/world.ts'
import type { ProviderId } from '../encoding/ids.ts'
import { newProvider, type Provider } from '../registry/provider.ts'
import { registerProvider } from '../registry/provider-status.ts'
import { taskDemand } from './kinds.ts'
import { isOwnTask, webhookOf, webhookTask } from './own-tasks.ts'

const NAME = 'fairlead.webhook.a'
const task = (name: string) => ({ kind: 'task', demand: taskDemand(name) }) as const

function provider(world: World, id: string, models: readonly string[]): Provider {
  const made = newProvider({
    id: id as ProviderId,
    offer: { capabilities: new Set(['task']), models: new Set(models) },
    stake: 60_000n,
    lastHeartbeat: 0,
  })
  registerProvider(world.market, made)
  return made
}

describe('work of the server itself', () => {
  it('HOOK-3: is known by its kind and name', () => {
    expect(isOwnTask({ kind: 'task', model: NAME })).toBe(true)
    expect(isOwnTask({ kind: 'ai', model: NAME })).toBe(false)
    expect(isOwnTask({ kind: 'task', model: 'fairleads' })).toBe(false)
    expect(webhookOf(webhookTask('a'))).toBe('a')
    expect(webhookOf('fairlead.other')).toBeNull()
  })

  it('HOOK-3: goes to the provider that is named after it and lists it, and to no other', () => {
    // The providers of a world take any name.
    const world = new World()
    provider(world, 'provider:other', [NAME, '*'])
    provider(world, `provider:${NAME}b`, [NAME])
    const job = world.enqueue(task(NAME))
    expect(world.round()).toEqual([])
    provider(world, `provider:${NAME}`, [NAME])
    expect(world.round()).toEqual([job])
  })

  it('HOOK-3: is not given to its provider unless it lists the name', () => {
    const world = new World()
    provider(world, `provider:${NAME}`, ['*'])
    world.enqueue(task(NAME))
    expect(world.round()).toEqual([])
  })

  it('HOOK-3: costs its provider no health, and has its own number of attempts', () => {
    const world = new World({ queue: { retries: { attempt_max: 2 } } })
    const own = provider(world, `provider:${NAME}`, [NAME])
    const job = world.enqueue({ ...task(NAME), options: { attempts: 5 } })
    for (let attempt = 1; attempt < 5; attempt++) {
      world.fail(world.run({ job, provider: own }), { code: 'http_500' })
      expect(job).toMatchObject({ status: 'QUEUED', retries: attempt })
      world.at(job.notBefore ?? 0)
    }
    world.fail(world.run({ job, provider: own }))
    expect(job).toMatchObject({ status: 'FAILED', reason: 'retries_exhausted' })
    expect(own).toMatchObject({ health: 1_000, failures: 0, cooldownUntil: null })
    world.fail(world.run({ job: world.enqueue(task('other')) }))
    expect(world.a.health).toBeLessThan(1_000)
  })
})
