import { readFileSync } from 'node:fs'
import { encodeCbor } from '@fairlead/core'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { expect, it } from 'vitest'
import { batchOf, newJob, START, sampleJob, sampleResult } from '../src/conformance/sample-rows.ts'
import { tempPath } from './temp-store.ts'

it('STORE-16: what is erased, or deleted with its job, is nowhere in the file', async () => {
  const path = tempPath()
  // Short enough to lie in a page with others, and so long that it has pages of its own.
  const registration = (n: number, size: number) =>
    newJob(
      { ...sampleJob(n, { status: 'COMPLETED', endedAt: START + n }), kind: 'registration' },
      encodeCbor({ org_ref: `org-${n}`, user_id: `person-${n}-${'x'.repeat(size)}` }),
    )
  const newJobs = [registration(1, 10), registration(2, 10_000), registration(3, 10)]
  let store = await openSqliteStore(path)
  const results = [1, 2, 3].map((n) => ({
    ...sampleResult(n),
    output: encodeCbor({ outcome: 'booked', booking_number: `person-${n}` }),
  }))
  await store.commit(batchOf({ newJobs, results }))
  await store.close()
  for (const n of [1, 2, 3]) expect(readFileSync(path, 'latin1')).toContain(`person-${n}`)
  store = await openSqliteStore(path)
  await store.commit(
    batchOf({ eraseEnded: { from: 0, before: START + 4 }, pruneEndedBefore: START + 2 }),
  )
  await store.close()
  const left = readFileSync(path, 'latin1')
  expect(left).not.toMatch(/person|xxx/)
  expect(left).toContain('org-2')
})
