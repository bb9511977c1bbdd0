// A worker: serves a provider until Ctrl-C, then finishes what it has and leaves.
import { connect, PermanentFailure } from '@fairlead/client'

const client = connect(process.env.FAIRLEAD_URL ?? 'http://127.0.0.1:7433', {
  token: process.env.FAIRLEAD_TOKEN,
})
const worker = client.worker({
  providerId: 'provider:atlas',
  kinds: ['ai'],
  models: ['llama3-8b'],
  concurrency: 4,
  handler: async ({ payload, signal }) => {
    const prompt = new TextDecoder().decode(payload.prompt)
    if (prompt === '') throw new PermanentFailure('invalid_input', 'the prompt is empty')
    signal.throwIfAborted() // it fires when the work is wanted no more
    return `You said: ${prompt}`
  },
})
console.log(`serving as ${worker.workerId}`)
await worker.closed
