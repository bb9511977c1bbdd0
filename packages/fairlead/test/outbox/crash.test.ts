import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { connect, type NodeClient } from '@fairlead/client'
import { type Seed, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CliProcess, type CliServer, fairlead, serve } from '../cli-process.ts'
import { type AppDatabase, postgresDatabases, sqliteDatabases } from './databases.ts'

const KILLS = process.env['LONG_TESTS'] ? 40 : 6
/** A relay is killed after so many jobs at most. */
const LIFE_JOBS = 60
/** Rows that wait at most: what has to be shown is not how many a table can hold. */
const WAITING_MAX = 300

let folder: string
let server: CliServer
let client: NodeClient
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-outbox-crash-'))
  server = await serve(folder)
  client = connect(server.url)
})
afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

it.each([
  ['SQLite', sqliteDatabases],
  ['PostgreSQL', postgresDatabases],
] as const)(
  'OUTBOX-5: %s: relays killed again and again under load make one job of each row, and none of a transaction that was rolled back',
  async (kind, databases) => {
    const seed = Date.now() % 1_000_000
    console.log(`${kind}: seed ${seed}`)
    const dice = new SeededDice(taggedHashHex('fairlead|outbox crash', seed) as Seed)
    const all = await databases()
    const app = await all.open()
    const name = `crash-${kind}`
    const load = new Load(app, name)
    const arrivals = await Arrivals.begin(client)
    const relays = new Set<CliProcess>()
    const start = async (): Promise<CliProcess> => {
      const args = ['outbox', 'relay', '--from', app.from, '--url', server.url]
      const started = new CliProcess([...args, '--batch', '20', '--poll', '10ms'])
      relays.add(started)
      await started.says(/Relaying/)
      return started
    }
    try {
      const writing = load.run(dice)
      let other = await start()
      for (let kill = 0; kill < KILLS; kill++) {
        const one = await start()
        await arrivals.more(1 + dice.draw(LIFE_JOBS))
        other.kill('SIGKILL')
        await other.ended
        relays.delete(other)
        other = one
      }
      load.stop()
      await writing
      other.kill('SIGTERM')
      expect(await other.ended).toMatchObject({ code: 0 })
      relays.clear()
      const last = ['outbox', 'relay', '--from', app.from, '--url', server.url, '--once']
      expect(await fairlead(last)).toMatchObject({ code: 0 })
      expect(await app.rows()).toEqual([])

      const found: string[] = []
      for await (const { request } of client.listJobs({ name }))
        found.push(...(request.options?.tags ?? []))
      expect(found.toSorted()).toEqual(load.committed.toSorted())
      expect(load.rolledBack).toBeGreaterThan(0)
    } finally {
      load.stop()
      for (const one of relays) one.kill('SIGKILL')
      await arrivals.end()
      await app.close()
      await all.close()
    }
  },
  120_000,
)

/** An application that writes transactions as long as it may. */
class Load {
  readonly committed: string[] = []
  rolledBack = 0
  readonly #app: AppDatabase
  readonly #name: string
  #isOver = false
  #next = 0

  constructor(app: AppDatabase, name: string) {
    this.#app = app
    this.#name = name
  }

  stop(): void {
    this.#isOver = true
  }

  async run(dice: SeededDice): Promise<void> {
    while (!this.#isOver) {
      const tags = Array.from({ length: 1 + dice.draw(4) }, () => `n:${this.#next++}`)
      const isKept = dice.draw(4) > 0
      const done = this.#app.transaction(async ({ enqueue }) => {
        for (const tag of tags) await enqueue(this.#name, {}, { tags: [tag] })
        if (!isKept) throw ROLL_BACK
      })
      await done.catch((error) => {
        if (error !== ROLL_BACK) throw error
      })
      if (isKept) this.committed.push(...tags)
      else this.rolledBack++
      if (this.#next % 50 === 0) {
        while (!this.#isOver && (await this.#app.rows()).length > WAITING_MAX) await setImmediate()
      }
      await setImmediate()
    }
  }
}

const ROLL_BACK = new Error('rolled back')

/** Counts the jobs that arrive at the server. */
class Arrivals {
  readonly #events: AsyncIterableIterator<unknown>

  private constructor(events: AsyncIterableIterator<unknown>) {
    this.#events = events
  }

  static async begin(client: NodeClient): Promise<Arrivals> {
    const events = client.events({ topics: ['jobEnqueued'] })
    await events.ready()
    return new Arrivals(events)
  }

  async more(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.#events.next()
  }

  async end(): Promise<void> {
    await this.#events.return?.()
  }
}
