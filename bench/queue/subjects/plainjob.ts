import { join } from 'node:path'
import { numberOf, type Payload, payloadNumber } from '../payload.ts'
import { importPeer } from '../peer.ts'
import type { Place, Subject } from '../subject.ts'

interface Plainjob {
  readonly better: (database: object) => object
  readonly defineQueue: (options: { connection: object; logger: object }) => Queue
  readonly defineWorker: (
    type: string,
    handler: (job: { readonly data: string }) => Promise<void>,
    options: object,
  ) => { start(): Promise<void>; stop(): Promise<void> }
}

interface Queue {
  add(type: string, data: Payload): unknown
  addMany(type: string, data: readonly Payload[]): unknown
  close(): void
}

interface BetterSqlite {
  readonly default: new (file: string) => object
}

/** How soon an idle worker looks again; the shortest that a timer can wait. */
const POLL_MS = 1

/**
 * plainjob with better-sqlite3. It sets WAL and `synchronous = NORMAL` itself. One worker in this
 * process: measured here, workers in processes of their own drained no faster, and took turns with
 * enqueues at half the rate. Its calls are synchronous, so each of ours ends with a turn of the loop.
 */
export async function openPlainjob(place: Place): Promise<Subject> {
  const { better, defineQueue, defineWorker } = await importPeer<Plainjob>('plainjob')
  const { default: Database } = await importPeer<BetterSqlite>('better-sqlite3')
  const connection = better(new Database(join(place.folder, 'plainjob.db')))
  const queue = defineQueue({ connection, logger: SILENT })
  return {
    enqueue(n) {
      queue.add('job', payloadNumber(n))
      return nextTurn()
    },
    enqueueBatch(first, count) {
      queue.addMany(
        'job',
        Array.from({ length: count }, (_, i) => payloadNumber(first + i)),
      )
      return nextTurn()
    },
    async work({ asking, started, completed }) {
      const handler =
        started === undefined
          ? async () => {}
          : async ({ data }: { readonly data: string }) =>
              started(() => numberOf((JSON.parse(data) as Payload).prompt))
      const worker = defineWorker('job', handler, {
        queue,
        logger: SILENT,
        pollIntervall: POLL_MS,
        onCompleted: () => completed(1),
      })
      asking()
      void worker.start()
      return () => worker.stop()
    },
    close: async () => queue.close(),
  }
}

const SILENT = { error() {}, warn() {}, info() {}, debug() {} }

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
