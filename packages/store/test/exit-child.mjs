// A process that exits while batches are applied, without closing its store.
import { openSqliteStore } from '@fairlead/store/sqlite'
import { batchOf, newJob, sampleJob } from '../dist/conformance/sample-rows.js'

const [file, delayMs] = process.argv.slice(2)
const store = await openSqliteStore(file)
for (let from = 1; from < 20_000; from += 2_000) {
  const newJobs = Array.from({ length: 2_000 }, (_, i) => newJob(sampleJob(from + i)))
  const batch = (from + 1_999) / 2_000
  store.log
    .append({ batch, digest: batch, body: new Uint8Array(100) })
    .then(() => store.tables.apply(batchOf({ newJobs }), batch))
    .catch(() => {})
}
setTimeout(() => process.exit(7), Number(delayMs))
