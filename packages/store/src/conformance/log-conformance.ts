import type { Log } from '@fairlead/core/internal'
import { afterEach, beforeEach, describe } from 'vitest'
import { logAppendRules } from './log-append-rules.ts'
import { logFaultRules } from './log-fault-rules.ts'
import type { LogFault } from './log-faults.ts'
import { logReadRules } from './log-read-rules.ts'

export { LOG_FAULTS, type LogFault } from './log-faults.ts'

/** A log under test, with records of its own. */
export interface OpenLog {
  readonly log: Log
  /** Closes the log and opens the same records again, as a restart does. */
  readonly reopen: () => Promise<Log>
  /** Opens the same records again as after the death of the process. */
  readonly crash: () => Promise<Log>
  /** The next so many appends fail in this way. */
  readonly fail: (fault: LogFault, times: number) => void
  readonly remove: () => Promise<void>
}

/** How the rules get at the log of the test that is running. */
export interface LogSubject {
  readonly log: () => Log
  readonly reopen: () => Promise<Log>
  readonly crash: () => Promise<Log>
  readonly fail: OpenLog['fail']
  /** Another log, which begins behind a batch. The rule closes it. */
  readonly openAfter: (batch: number) => Promise<OpenLog>
}

/**
 * Registers the tests that every log has to pass; a log that does is correct. Titles begin with the rules of
 * docs/spec/log.md. `open` gives a new, empty log that begins behind a batch.
 */
export function logConformance(
  name: string,
  { open }: { readonly open: (afterBatch: number) => Promise<OpenLog> },
): void {
  describe(`${name}: log conformance`, () => {
    let opened: OpenLog
    let log: Log
    beforeEach(async () => {
      opened = await open(0)
      log = opened.log
    })
    afterEach(() => opened.remove())
    const subject: LogSubject = {
      log: () => log,
      reopen: async () => {
        log = await opened.reopen()
        return log
      },
      crash: async () => {
        log = await opened.crash()
        return log
      },
      fail: (fault, times) => opened.fail(fault, times),
      openAfter: open,
    }
    logAppendRules(subject)
    logReadRules(subject)
    logFaultRules(subject)
  })
}
