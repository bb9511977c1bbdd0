// Requesters in a process of their own, whose server is killed under them. Each waits for its answer before
// it asks again; `E key job` says what was answered. When standard input ends they stop.
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@fairlead/client'

const CALLERS = 16
const WAITING_MAX = 200
const [url] = process.argv.slice(2)
const client = connect(url, { timeoutMs: 120_000 })
let next = 0
let isOver = false
/** All wait for it before they ask again. */
let room = Promise.resolve()
process.stdin.resume()
process.stdin.once('end', () => {
  isOver = true
})

await Promise.all(Array.from({ length: CALLERS }, enqueueForever))
await client.close()
process.exit(0)

async function enqueueForever() {
  while (!isOver) {
    await room
    const key = `k-${next++}`
    const payload = { name: 'echo', args: { key } }
    const { task_id } = await client.enqueue({ kind: 'task', payload, idempotency_key: key })
    process.stdout.write(`E ${key} ${task_id}\n`)
    if (next % 50 === 0) room = untilRoom()
  }
}

/** Enough to do is enough: what has to be shown is not how long a queue can get. */
async function untilRoom() {
  while (!isOver) {
    const { queues } = await client.call('stats.get', {})
    const waiting = queues.map(({ ready, backoff, no_provider }) => ready + backoff + no_provider)
    if (waiting.reduce((sum, n) => sum + n, 0) < WAITING_MAX) return
    await delay(50)
  }
}
