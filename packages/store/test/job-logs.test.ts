import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobId } from '@fairlead/core'
import { openJobLogs } from '@fairlead/store/job-logs'
import { afterEach, beforeEach, expect, it } from 'vitest'

const ids = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}` as JobId)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-job-logs-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('PROGRESS-3: lines are there after the file was closed, attempt by attempt', () => {
  const path = join(folder, 'a.job-logs')
  const [first, second, third] = ids as [JobId, JobId, JobId]
  const lines = [{ at: 7, text: 'é "quoted"' }]
  const before = openJobLogs(path)
  before.save([
    { jobId: second, attempt: 1, lines, dropped: 0 },
    { jobId: second, attempt: 0, lines: [], dropped: 4 },
    { jobId: first, attempt: 0, lines, dropped: 0 },
  ])
  before.save([{ jobId: second, attempt: 1, lines: [...lines, ...lines], dropped: 1 }])
  before.close()
  const logs = openJobLogs(path)
  expect(logs.read(second)).toEqual([
    { jobId: second, attempt: 0, lines: [], dropped: 4 },
    { jobId: second, attempt: 1, lines: [...lines, ...lines], dropped: 1 },
  ])
  expect(logs.read(third)).toEqual([])
  expect(logs.jobsAfter(null, 10)).toEqual([first, second])
  expect(logs.jobsAfter(first, 10)).toEqual([second])
  logs.delete([second])
  expect(logs.jobsAfter(null, 10)).toEqual([first])
  logs.close()
})

it('PROGRESS-3: a file that is none is refused with what to do', () => {
  const path = join(folder, 'a.job-logs')
  writeFileSync(path, 'this is no database, and it is long enough to be looked at')
  expect(() => openJobLogs(path)).toThrow(/a\.job-logs: .*move the file away/)
})
