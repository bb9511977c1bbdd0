import { describe, expect, it } from 'vitest'
import { eventOf } from './journal.ts'

const id = `0x${'ab'.repeat(32)}`
const entry = { seq: 7, at: 5, actor: 'engine' }

describe('an entry as an event', () => {
  it.each(['jobEnqueued', 'jobCompleted', 'placeReleased', 'feeFailed'])(
    'ENGINE-3: %s has its job',
    (action) => {
      const details = { leaseId: '0x01' }
      expect(eventOf({ ...entry, action, subject: id, details })).toEqual({
        type: action,
        at: 5,
        seq: 7,
        jobId: id,
        leaseId: '0x01',
      })
    },
  )

  it.each(['limitDefined', 'leaseRenewed', 'providerStatus'])('ENGINE-3: %s has none', (action) => {
    const event = eventOf({ ...entry, action, subject: id, details: { subject: id } })
    expect(event).toEqual({ type: action, at: 5, seq: 7, subject: id })
  })
})
