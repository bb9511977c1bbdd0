// A process of its own that commits batch after batch to a store and says so for each. Started by
// the tests, which kill it. Batch k has jobs, leases and entries that all tell their batch.
import { writeSync } from 'node:fs'
import { openSqliteStore } from '@fairlead/store/sqlite'
import {
  batchOf,
  newJob,
  sampleEntry,
  sampleJob,
  sampleLease,
} from '../dist/conformance/sample-rows.js'

const ROWS = 100
const [path = '', durability = 'full'] = process.argv.slice(2)
const store = await openSqliteStore(path, { durability })
const { meta } = await store.load()

for (let k = Number(meta['batch'] ?? 0) + 1; ; k++) {
  const numbers = Array.from({ length: ROWS }, (_, i) => (k - 1) * ROWS + i + 1)
  await store.commit(
    batchOf({
      newJobs: numbers.map((n) => newJob(sampleJob(n), Buffer.alloc(2_000, k))),
      newLeases: numbers.map((n) => sampleLease(n)),
      journal: numbers.map((n) => sampleEntry(n, { jobSeq: n })),
      meta: { batch: String(k) },
    }),
  )
  // Not buffered: what the parent reads was committed.
  writeSync(1, `${k}\n`)
}
