import { EventEmitter } from 'node:events'
import { numberOf, type Payload, payloadNumber } from '../payload.ts'
import { importPeer } from '../peer.ts'
import type { Place, Subject } from '../subject.ts'

interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => object
  readonly makeWorkerUtils: (options: object) => Promise<WorkerUtils>
  readonly run: (options: object) => Promise<{ stop(): Promise<void> }>
}

interface WorkerUtils {
  migrate(): Promise<void>
  addJob(task: string, payload: Payload): Promise<unknown>
  addJobs(jobs: readonly { identifier: string; payload: Payload }[]): Promise<unknown>
  release(): Promise<void>
}

interface Pg {
  readonly default: { readonly Pool: new (options: object) => Pool }
}

interface Pool {
  on(event: 'connect', listener: (client: Client) => void): void
  on(event: 'error', listener: (error: Error) => void): void
  query(sql: string): Promise<unknown>
  end(): Promise<void>
}

interface Client {
  on(event: 'error', listener: (error: Error) => void): void
  query(query: Query, ...rest: unknown[]): Promise<{ readonly rowCount: number }>
}

type Query = string | { readonly name?: string }

/**
 * The figures of its page on performance, with a local queue twice as long, which was a little faster
 * here: jobs are fetched a thousand at a time and completed together.
 */
const CONCURRENCY = 24
/** Of the workers, and of those that enqueue; 50 and 90 were no faster. */
const POOL = 25
const LOCAL_QUEUE = 1_000
/**
 * In a flow: how long to wait after a fetch that was not full. Without it each job that is added makes
 * for a fetch of its own, which slows the adding down by a fifth. Latency is measured without a delay.
 */
const REFETCH = { durationMs: 50, threshold: LOCAL_QUEUE - 1 }

export async function openGraphileWorker(place: Place): Promise<Subject> {
  const { Logger, makeWorkerUtils, run } = await importPeer<GraphileWorker>('graphile-worker')
  const { default: pg } = await importPeer<Pg>('pg')
  const logger = new Logger(() => () => {})
  const pool = guarded(new pg.Pool({ connectionString: place.url, max: POOL }))
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  await utils.migrate()
  return {
    enqueue: (n) => utils.addJob('job', payloadNumber(n)),
    enqueueBatch: (first, count) =>
      utils.addJobs(
        Array.from({ length: count }, (_, i) => ({
          identifier: 'job',
          payload: payloadNumber(first + i),
        })),
      ),
    // Without statistics on a fresh load the planner scans the whole table for each fetch.
    afterLoad: () => pool.query('ANALYZE'),
    async work({ load, slots, asking, started, completed }) {
      const events = new EventEmitter()
      events.once('localQueue:init', asking)
      const workerPool = guarded(new pg.Pool({ connectionString: place.url, max: POOL }))
      workerPool.on('connect', (client) => countCompletions(client, completed))
      // Where few run at once, few are fetched ahead: its documentation says one more.
      const size = slots === undefined ? LOCAL_QUEUE : slots + 1
      const runner = await run({
        pgPool: workerPool,
        logger,
        events,
        preset: {
          worker: {
            concurrentJobs: slots ?? CONCURRENCY,
            localQueue: { size, ...(load === 'flow' ? { refetchDelay: REFETCH } : {}) },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
        crontab: '',
        noHandleSignals: true,
        taskList: {
          job:
            started === undefined
              ? () => {}
              : ({ prompt }: Payload) => started(() => numberOf(prompt)),
        },
      })
      return async () => {
        await runner.stop()
        await workerPool.end()
      }
    },
    async close() {
      await utils.release()
      await pool.end()
    },
  }
}

/** It asks for these listeners. */
function guarded(pool: Pool): Pool {
  const fail = (error: Error): never => {
    throw error
  }
  pool.on('error', fail)
  pool.on('connect', (client) => client.on('error', fail))
  return pool
}

/** Its events tell of a job before its completion is in the database; the statement does not. */
function countCompletions(client: Client, completed: (count: number) => void): void {
  const query = client.query.bind(client)
  client.query = (asked, ...rest) => {
    const answer = query(asked, ...rest)
    if (typeof asked === 'object' && asked.name?.startsWith('complete_job') === true) {
      void answer.then(({ rowCount }) => completed(rowCount))
    }
    return answer
  }
}
