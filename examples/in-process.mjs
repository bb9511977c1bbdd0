// The engine without a server: the same worker loop, in the same process, on one SQLite file.
import { worker } from '@fairlead/client'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'

const engine = await openEngine({
  store: await openSqliteStore(process.argv[2] ?? './fairlead.db'),
})
const serving = worker({
  source: engine.leaseSource(),
  providerId: 'provider:atlas',
  kinds: ['task'],
  concurrency: 4,
  handler: async ({ payload }) => `hello ${payload.args.name}`,
})
const completed = new Promise((resolve) => {
  void engine.onEvent((event) => event.type === 'jobCompleted' && resolve())
})
const task = { kind: 'task', payload: { name: 'greet', args: { name: 'world' } } }
const jobId = await engine.enqueue(task, { caller: callerOf('acme') })
await completed
console.log(Buffer.from((await engine.getResult(jobId)).output).toString())
await serving.stop()
await engine.close()
