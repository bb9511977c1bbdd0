import { setTimeout as pause } from 'node:timers/promises'
import { numberOf, type Payload, payloadNumber } from '../payload.ts'
import { importPeer } from '../peer.ts'
import type { Place, Subject, Work } from '../subject.ts'

interface PgBossModule {
  readonly PgBoss: new (options: object) => PgBoss
}

interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  createQueue(name: string): Promise<void>
  send(queue: string, data: Payload): Promise<unknown>
  insert(queue: string, jobs: readonly { data: Payload }[]): Promise<unknown>
  fetch(
    queue: string,
    options: { batchSize: number },
  ): Promise<readonly { readonly id: string; readonly data: Payload }[]>
  complete(queue: string, ids: readonly string[]): Promise<unknown>
  getDb(): { executeSql(sql: string): Promise<unknown> }
  stop(options: { graceful: boolean }): Promise<void>
}

const QUEUE = 'bench'
/** Measured here: four pollers drain faster than one or two. */
const POLLERS = 4
/** 50 and 90 connections sent no faster. */
const POOL = 25
const BATCH = 1_000

/**
 * pg-boss with `fetch` and `complete` in batches, which is faster here than its `work`, and polls again
 * at once. LISTEN and NOTIFY make its sends slower and its latency no better, so they stay off.
 */
export async function openPgBoss(place: Place): Promise<Subject> {
  const { PgBoss } = await importPeer<PgBossModule>('pg-boss')
  const boss = new PgBoss({
    connectionString: place.url,
    max: POOL,
    // Maintenance and cron would only take time from what is measured.
    supervise: false,
    schedule: false,
  })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(QUEUE)
  return {
    enqueue: (n) => boss.send(QUEUE, payloadNumber(n)),
    enqueueBatch: (first, count) =>
      boss.insert(
        QUEUE,
        Array.from({ length: count }, (_, i) => ({ data: payloadNumber(first + i) })),
      ),
    // Without statistics on a fresh load the planner scans the whole table for each fetch.
    afterLoad: () => boss.getDb().executeSql('ANALYZE'),
    async work(work) {
      let isOver = false
      // One poller follows a flow best: the others would only ask again for what it has taken.
      const pollers = work.load !== 'backlog' || work.slots !== undefined ? 1 : POLLERS
      work.asking()
      const loops = Array.from({ length: pollers }, () => poll(boss, work, () => isOver))
      return () => {
        isOver = true
        return Promise.all(loops)
      }
    },
    close: () => boss.stop({ graceful: false }),
  }
}

async function poll(boss: PgBoss, work: Work, isOver: () => boolean): Promise<void> {
  const { slots: batchSize = BATCH, started, completed } = work
  while (!isOver()) {
    const jobs = await boss.fetch(QUEUE, { batchSize })
    if (jobs.length === 0) {
      await pause(1)
      continue
    }
    if (started !== undefined) for (const { data } of jobs) started(() => numberOf(data.prompt))
    await boss.complete(
      QUEUE,
      jobs.map(({ id }) => id),
    )
    completed(jobs.length)
  }
}
