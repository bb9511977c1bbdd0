import { FairleadError } from '@fairlead/core'
import { logConformance } from '../src/conformance/log-conformance.ts'
import { MemoryLog } from '../src/memory/memory-log.ts'
import { openTempLog } from './temp-log.ts'

logConformance('memory', {
  open: async (after) => {
    let failing = 0
    let when: 'before' | 'after' = 'before'
    const error = new FairleadError('StoreUnavailable', 'a fault of the test')
    let log = new MemoryLog({
      after,
      fault: () => (failing-- > 0 ? { when, error } : null),
    })
    const reopen = async () => {
      failing = 0
      log = log.reopen()
      return log
    }
    return {
      log,
      reopen,
      crash: reopen,
      fail: (fault, times) => {
        failing = times
        when = fault === 'late' ? 'after' : 'before'
      },
      remove: async () => {},
    }
  },
})

logConformance('files', { open: openTempLog })
