/**
 * The server of the bench, in a process of its own: SQLite with `synchronous=FULL`, the engine and the
 * server as `fairlead serve` puts them together. `node server.js FOLDER` tells its URL to its parent.
 */
import { join } from 'node:path'
import { openEngine } from '@fairlead/engine'
import { MeteredStore, startServer } from '@fairlead/server'
import { openSqliteStore } from '@fairlead/store/sqlite'

const [folder = '.'] = process.argv.slice(2)
process.on('disconnect', () => process.exit(1))

const store = new MeteredStore(await openSqliteStore(join(folder, 'fairlead.db')))
const engine = await openEngine({
  store,
  // Otherwise the policy, and not the server, would be measured.
  policy: { queue: { max_depth: 2_000_000, quotas: { leases_max_per_provider: 100_000 } } },
})
const server = await startServer({
  engine,
  store,
  listen: { host: '127.0.0.1', port: 0 },
  limits: { requestsPerSecond: 1_000_000, requestsBurst: 1_000_000 },
})
process.send?.({ url: server.url })
