import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobId } from '@fairlead/core'
import { openJobLogs } from '@fairlead/store/job-logs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../dist/sqlite/driver.js'

const ids = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}` as JobId)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-job-logs-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('PROGRESS-3: lines are there after the file was closed, attempt by attempt', () => {
  const path = join(folder, 'a.job-logs')
  const [first, second, third] = ids as [JobId, JobId, JobId]
  const progress = { percent: 40, message: null, at: 9 }
  const lines = [{ at: 7, text: 'é "quoted"' }]
  const before = openJobLogs(path)
  before.save([
    { jobId: second, attempt: 1, lines, dropped: 0, progress: null },
    { jobId: second, attempt: 0, lines: [], dropped: 4, progress },
    { jobId: first, attempt: 0, lines, dropped: 0, progress: null },
  ])
  before.save([
    { jobId: second, attempt: 1, lines: [...lines, ...lines], dropped: 1, progress: null },
  ])
  before.close()
  const logs = openJobLogs(path)
  expect(logs.read(second)).toEqual([
    { jobId: second, attempt: 0, lines: [], dropped: 4, progress },
    { jobId: second, attempt: 1, lines: [...lines, ...lines], dropped: 1, progress: null },
  ])
  expect(logs.read(third)).toEqual([])
  expect(logs.jobsAfter(null, 10)).toEqual([first, second])
  expect(logs.jobsAfter(first, 10)).toEqual([second])
  logs.delete([second])
  expect(logs.jobsAfter(null, 10)).toEqual([first])
  logs.close()
})

it('PROGRESS-3: a file without progress is read and goes on with it', () => {
  const path = join(folder, 'a.job-logs')
  const [first] = ids as [JobId]
  const older = openDatabase(path, 1_000)
  older.exec(
    'CREATE TABLE job_logs (job_id TEXT NOT NULL, attempt INTEGER NOT NULL, dropped INTEGER NOT NULL, lines TEXT NOT NULL, PRIMARY KEY (job_id, attempt)) STRICT, WITHOUT ROWID',
  )
  older.prepare('INSERT INTO job_logs VALUES (?, 0, 0, ?)').run(first, '[[7,"a"]]')
  older.close()
  const logs = openJobLogs(path)
  expect(logs.read(first)).toMatchObject([{ lines: [{ at: 7, text: 'a' }], progress: null }])
  const progress = { percent: null, message: 'half', at: 8 }
  logs.save([{ jobId: first, attempt: 1, lines: [], dropped: 0, progress }])
  expect(logs.read(first)[1]?.progress).toEqual(progress)
  logs.close()
})

it('PROGRESS-3: a file that is none is refused with what to do', () => {
  const path = join(folder, 'a.job-logs')
  writeFileSync(path, 'this is no database, and it is long enough to be looked at')
  expect(() => openJobLogs(path)).toThrow(/a\.job-logs: .*move the file away/)
})
