import { numberOf, type Payload, payloadNumber } from '../payload.ts'
import { importPeer } from '../peer.ts'
import type { Place, Subject, Work } from '../subject.ts'

interface Bullmq {
  readonly Queue: new (name: string, options: object) => Queue
  readonly Worker: new (
    name: string,
    handler: (job: { readonly data: Payload }) => Promise<void>,
    options: object,
  ) => Worker
}

interface Queue {
  waitUntilReady(): Promise<unknown>
  add(name: string, data: Payload, options?: { jobId: string }): Promise<unknown>
  addBulk(jobs: readonly { name: string; data: Payload }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  close(): Promise<void>
}

interface Ioredis {
  readonly Redis: new (
    url: string,
  ) => {
    info(section: 'memory'): Promise<string>
    disconnect(): void
  }
}

interface Worker {
  on(event: 'completed', listener: () => void): void
  on(event: 'error', listener: (error: Error) => void): void
  waitUntilReady(): Promise<unknown>
  run(): Promise<void>
  close(force: boolean): Promise<void>
}

/**
 * One worker with many jobs at once: measured here, 200 drain faster than 50 or 100, and two or three
 * workers, in this process or in processes of their own, no faster than one.
 */
const CONCURRENCY = 200

/** BullMQ with ioredis. Whether Redis keeps a log is up to the server that it is given. */
export async function openBullmq(place: Place): Promise<Subject> {
  const { Queue, Worker } = await importPeer<Bullmq>('bullmq')
  // As its documentation asks for workers.
  const connection = { url: place.url, maxRetriesPerRequest: null }
  const queue = new Queue('bench', {
    connection,
    // Finished jobs go at once: what is kept must be trimmed at every completion.
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  })
  await queue.waitUntilReady()
  return {
    enqueue: (n) => queue.add('job', payloadNumber(n)),
    enqueueKeyed: (n) => queue.add('job', payloadNumber(n), { jobId: `key-${n}` }),
    // The documented way for many: one pipeline.
    enqueueBatch: (first, count) =>
      queue.addBulk(
        Array.from({ length: count }, (_, i) => ({ name: 'job', data: payloadNumber(first + i) })),
      ),
    async work(work) {
      const worker = new Worker('bench', handlerOf(work), {
        connection,
        concurrency: work.slots ?? CONCURRENCY,
        autorun: false,
      })
      worker.on('error', (error) => {
        throw error
      })
      worker.on('completed', () => work.completed(1))
      await worker.waitUntilReady()
      work.asking()
      void worker.run()
      return () => worker.close(true)
    },
    async serverBytes() {
      const { Redis } = await importPeer<Ioredis>('ioredis')
      const client = new Redis(place.url)
      const info = await client.info('memory')
      client.disconnect()
      return Number(/used_memory_rss:(\d+)/.exec(info)?.[1])
    },
    async close() {
      await queue.obliterate({ force: true })
      await queue.close()
    },
  }
}

function handlerOf({ started }: Work): (job: { readonly data: Payload }) => Promise<void> {
  if (started === undefined) return async () => {}
  return async ({ data }) => started(() => numberOf(data.prompt))
}
