// A server on a file in a process of its own, for tests that measure its memory or kill it.
// in: argv[2], a JSON object {folder, people, inLine} and options of the server; so many people stand in line for a session then      out: a JSON line {url, tokens} when it listens
import { join } from 'node:path'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { createLogger, MeteredStore, startServer, TokenFile } from '@fairlead/server'
import { openSqliteStore } from '@fairlead/store/sqlite'

const { folder, people, limits, policy = {}, inLine = 0, ...more } = JSON.parse(process.argv[2])
const tokenFile = new TokenFile(join(folder, 'tokens.json'))
const tokens = {}
for (const [name, wanted] of Object.entries(people)) tokens[name] = tokenFile.create(wanted).token
const store = new MeteredStore(await openSqliteStore(join(folder, 'fairlead.db')))
const engine = await openEngine({ store, policy })
const session = { provider: 'site', org_ref: 'north', event_id: 'full' }
const scheduled_time = Date.now() + 3_600_000
const caller = callerOf('crowd')
const joins = Array.from({ length: inLine }, (_, i) => {
  const payload = { ...session, scheduled_time, user_id: `p${i}`, args: {} }
  return engine.enqueue({ kind: 'registration', payload }, { caller })
})
await Promise.all(joins)
const server = await startServer({
  engine,
  store,
  listen: { host: '127.0.0.1', port: 0 },
  tokens: tokenFile,
  ...(limits === undefined ? {} : { limits }),
  ...more,
  logger: createLogger({ level: 'warn', to: process.stderr }),
})
process.stdout.write(`${JSON.stringify({ url: server.url, tokens })}\n`)
