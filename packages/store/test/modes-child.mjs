// A process that lets others read what it makes: it opens a store, applies a batch, and prints the modes of the folder's files.
// in: argv[2], the path of the store      out: a JSON object, names with modes
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openJobLogs } from '@fairlead/store/job-logs'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { batchOf, newJob, sampleJob } from '../dist/conformance/sample-rows.js'

process.umask(0)
const path = process.argv[2]
const store = await openSqliteStore(path)
const logs = openJobLogs(`${path}.job-logs`)
logs.save([])
await store.log.append({ batch: 1, digest: 1, body: new Uint8Array(9) })
await store.tables.apply(batchOf({ newJobs: [newJob(sampleJob(1))] }), 1)
await store.tables.commit()
const folder = dirname(path)
const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
process.stdout.write(JSON.stringify(Object.fromEntries(modes)))
logs.close()
await store.close()
