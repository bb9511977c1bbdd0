// A process of its own that applies batch after batch to a store and says so for each. Started by the tests, which kill it.
// Batch k has jobs, leases and entries that all tell their batch, and changes the jobs of the batch before.
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
const [path = ''] = process.argv.slice(2)
// Commits and checkpoints often, so that most kills come in the middle of one.
const pace = { rows: 700, checkpointBytes: 1_000_000 }
const store = await openSqliteStore(path, {}, { pace })
const { batch } = await store.tables.load()

for (let k = batch + 1; ; k++) {
  const numbers = Array.from({ length: ROWS }, (_, i) => (k - 1) * ROWS + i + 1)
  if (k > store.log.end.batch)
    await store.log.append({ batch: k, digest: k, body: Buffer.alloc(50) })
  await store.tables.apply(
    batchOf({
      newJobs: numbers.map((n) => newJob(sampleJob(n), Buffer.alloc(2_000, k))),
      jobs: k === 1 ? [] : numbers.map((n) => sampleJob(n - ROWS, { status: 'RUNNING' })),
      newLeases: numbers.map((n) => sampleLease(n)),
      journal: numbers.map((n) => sampleEntry(n, { jobSeq: n })),
      meta: { batch: String(k) },
    }),
    k,
  )
  // Not buffered: what the parent reads was applied.
  writeSync(1, `${k}\n`)
}
