// The quick start of BullMQ, and the same with Fairlead. Run it with both packages installed:
// REDIS_URL=redis://127.0.0.1:6379 node from-bullmq.mjs jobs.db
import { once } from 'node:events'
import { Queue, QueueEvents, Worker } from 'bullmq'
import { openQueue } from 'fairlead'

const paintCar = async (color) => `a ${color} car`

async function withBullmq(url) {
  const connection = { url, maxRetriesPerRequest: null }
  const queue = new Queue('Paint', { connection })
  const worker = new Worker('Paint', async (job) => paintCar(job.data.color), { connection })
  const events = new QueueEvents('Paint', { connection })
  await events.waitUntilReady()
  events.on('failed', ({ failedReason }) => console.error('error painting', failedReason))

  await queue.add('cars', { color: 'blue' }, { attempts: 3, delay: 10 })
  const [{ returnvalue }] = await once(events, 'completed')
  console.log(`BullMQ painted ${returnvalue}`)

  await worker.close()
  await events.close()
  await queue.close()
}

async function withFairlead(file) {
  const queue = await openQueue(file)
  queue.work('cars', async (data) => paintCar(data.color))
  queue.on('failed', ({ id, reason }) => console.error('error painting', id, reason))

  const job = await queue.add('cars', { color: 'blue' }, { attempts: 3, delay: 10 })
  console.log(`Fairlead painted ${await job.result()}`)

  await queue.close()
}

await withBullmq(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
await withFairlead(process.argv[2] ?? './jobs.db')
