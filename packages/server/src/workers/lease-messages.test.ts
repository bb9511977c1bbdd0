import type { LeaseId, LeaseOffer } from '@fairlead/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { LeaseInbox } from './lease-messages.ts'

const EMPTY_MAP = Uint8Array.of(0xa0)

function offerOf(name: string): LeaseOffer {
  const times = { at: 1_000, renewBy: 31_000, deadline: 61_000, ackBy: 6_000, tStart: 1_000 }
  return { leaseId: name as LeaseId, payload: EMPTY_MAP, ...times } as unknown as LeaseOffer
}

afterEach(() => void vi.useRealTimers())

describe('what waits for its worker', () => {
  it('WIRE-5: says when it is passed on, not when the engine said it', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const inbox = new LeaseInbox(
      () => {},
      () => {},
    )
    inbox.held([{ leaseId: 'held' as LeaseId, at: 900, renewBy: 30_900, deadline: 60_900 }])
    inbox.offer(offerOf('first'))
    vi.advanceTimersByTime(3_000)
    inbox.offer(offerOf('second'))
    const { held, offered } = inbox.take()
    expect(held).toMatchObject([{ at: 3_900, t_deadline: 60_900 }])
    expect(offered).toMatchObject([
      { lease_id: 'first', at: 4_000, t_deadline: 61_000, ack_by: 6_000 },
      { lease_id: 'second', at: 1_000 },
    ])
  })
})
