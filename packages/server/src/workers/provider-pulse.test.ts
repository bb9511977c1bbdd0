import type { ProviderId } from '@fairlead/core'
import { expect, it } from 'vitest'
import { ProviderPulse } from './provider-pulse.ts'

const ATLAS = 'provider:atlas' as ProviderId
const BOREA = 'provider:borea' as ProviderId

function pulse(registry: object) {
  const beats: string[] = []
  const clock = { now: 0 }
  const engine = {
    view: { policy: { registry: { heartbeatTimeoutMs: 180_000, ...registry } } },
    heartbeat: (id: string) => {
      beats.push(id)
      return Promise.reject(new Error('there is no such provider'))
    },
  } as unknown as ConstructorParameters<typeof ProviderPulse>[0]
  return { beats, clock, pulse: new ProviderPulse(engine, () => clock.now) }
}

it('WIRE-11: a call is a heartbeat of its provider, at most one in 15 s', () => {
  const { beats, clock, pulse: one } = pulse({ liveness: 'heartbeat' })
  one.beat(ATLAS)
  one.beat(ATLAS)
  one.beat(BOREA)
  clock.now = 14_999
  one.beat(ATLAS)
  expect(beats).toEqual([ATLAS, BOREA])
  clock.now = 15_000
  one.beat(ATLAS)
  expect(beats).toEqual([ATLAS, BOREA, ATLAS])
})

it('WIRE-11: a provider that may be silent for less beats before its time is over', () => {
  const { beats, clock, pulse: one } = pulse({ liveness: 'heartbeat', heartbeatTimeoutMs: 3_000 })
  for (clock.now = 0; clock.now < 3_000; clock.now += 100) one.beat(ATLAS)
  expect(beats).toHaveLength(3)
})

it('WIRE-11: where workers show that a provider is alive, a call is no heartbeat', () => {
  const { beats, pulse: one } = pulse({ liveness: 'worker' })
  one.beat(ATLAS)
  expect(beats).toEqual([])
})
