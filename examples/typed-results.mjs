// A handler whose results fit a schema, and a requester that reads them by the same one. Any library with
// the Standard Schema interface will do; this one is Zod.
import { connect } from '@fairlead/client'
import { z } from 'zod'

const Total = z.object({ total: z.number() })
const client = connect(process.env.FAIRLEAD_URL ?? 'http://127.0.0.1:7433', {
  token: process.env.FAIRLEAD_TOKEN,
})
const worker = client.worker({
  providerId: 'provider:sums',
  kinds: ['task'],
  models: ['sum'],
  concurrency: 1,
  result: Total,
  handler: ({ payload }) => ({ total: payload.args.numbers.reduce((sum, n) => sum + n, 0) }),
})
const payload = { name: 'sum', args: { numbers: [1, 2, 39] } }
const { task_id } = await client.enqueue({ kind: 'task', payload })
const { value } = await client.waitForResult(task_id, { schema: Total })
console.log(value.total)
await worker.stop()
await client.close()
