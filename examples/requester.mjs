// Enqueues a job, waits for its result, and says why it went where it went.
import { connect } from '@fairlead/client'

const client = connect(process.env.FAIRLEAD_URL ?? 'http://127.0.0.1:7433', {
  token: process.env.FAIRLEAD_TOKEN,
})
const { task_id } = await client.aiEnqueue('llama3-8b', 'Hello!', { max_tokens: 64 })
const { text } = await client.waitForResult(task_id, { timeoutMs: 30_000 })
console.log(text)
console.log((await client.explain(task_id)).text)
await client.close()
