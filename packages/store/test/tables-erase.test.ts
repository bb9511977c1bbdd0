import { readFileSync } from 'node:fs'
import { encodeCbor } from '@fairlead/core'
import { expect, it } from 'vitest'
import { batchOf, newJob, START, sampleJob, sampleResult } from '../src/conformance/sample-rows.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { applyLogged } from './open-logged.ts'
import { imageOf } from './sample-store.ts'
import { tempPath } from './temp-store.ts'

it('STORE-16: what is erased, or deleted with its job, is nowhere in the files after a scrub', async () => {
  const path = tempPath()
  // Short enough to lie in a page with others, and so long that it has pages of its own.
  const registration = (n: number, size: number) =>
    newJob(
      { ...sampleJob(n, { status: 'COMPLETED', endedAt: START + n }), kind: 'registration' },
      encodeCbor({ org_ref: `org-${n}`, user_id: `person-${n}-${'x'.repeat(size)}` }),
    )
  const newJobs = [registration(1, 10), registration(2, 10_000), registration(3, 10)]
  const results = [1, 2, 3].map((n) => ({
    ...sampleResult(n),
    output: encodeCbor({ outcome: 'booked', booking_number: `person-${n}` }),
  }))
  const files = () => ['', '-wal'].map((end) => readFileSync(path + end, 'latin1')).join('')
  const store = await openSqliteStore(path)
  await applyLogged(store, batchOf({ newJobs, results }), 1)
  await store.tables.sync()
  for (const n of [1, 2, 3]) expect(files()).toContain(`person-${n}`)
  const eraseEnded = { from: 0, before: START + 4 }
  await applyLogged(store, batchOf({ eraseEnded, pruneEndedBefore: START + 2 }), 2)
  expect(await store.tables.scrub()).toBe(2)
  expect(files()).not.toMatch(/person|xxx/)
  expect(files()).toContain('org-2')
  await store.close()
})

it('ERASE-1: a scrub after the death of the process removes what was erased before it', async () => {
  const path = tempPath()
  const payload = encodeCbor({ org_ref: 'org', user_id: `person-${'x'.repeat(10_000)}` })
  const row = sampleJob(1, { status: 'COMPLETED', endedAt: START + 1 })
  const store = await openSqliteStore(path)
  await applyLogged(
    store,
    batchOf({ newJobs: [newJob({ ...row, kind: 'registration' }, payload)] }),
    1,
  )
  await store.tables.sync()
  await applyLogged(store, batchOf({ eraseEnded: { from: 0, before: START + 4 } }), 2)
  await store.tables.commit()
  const image = imageOf(path)
  await store.close()

  const next = await openSqliteStore(image)
  await next.tables.scrub()
  const files = ['', '-wal'].map((end) => readFileSync(image + end, 'latin1')).join('')
  expect(files).toContain('org')
  expect(files).not.toMatch(/person|xxx/)
  await next.close()
})
