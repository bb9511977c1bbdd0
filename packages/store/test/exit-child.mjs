// A process that exits in the middle of a commit, without closing its store.
import { openSqliteStore } from '@fairlead/store/sqlite'
import { batchOf, newJob, sampleJob } from '../dist/conformance/sample-rows.js'

const [file, delayMs] = process.argv.slice(2)
const store = await openSqliteStore(file)
for (let from = 1; from < 20_000; from += 2_000) {
  const newJobs = Array.from({ length: 2_000 }, (_, i) => newJob(sampleJob(from + i)))
  store.commit(batchOf({ newJobs })).catch(() => {})
}
setTimeout(() => process.exit(7), Number(delayMs))
