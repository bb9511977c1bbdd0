/**
 * Keeps the private servers of a bench, in a process of its own that ends last: when the bench is gone,
 * in whatever way, the channel to it closes, and the servers and all temporary files go too. It stands
 * in a process group of its own, so that Ctrl-C does not end a server before its files can be removed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Postgres, startPostgres } from '@fairlead/testkit/postgres'
import { startRedis } from '@fairlead/testkit/servers'
import type { ServerName } from '../subject.ts'

/** What the bench asks for; each question has one answer. */
export type Question =
  | { readonly ask: 'folder' }
  | { readonly ask: 'open'; readonly server: ServerName; readonly folder: string }
  | { readonly ask: 'close' }

export type Answer = { readonly value: string } | { readonly error: string }

const root = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
let postgres: Postgres | null = null
/** Ends what the last `open` gave. */
let closeOpen: () => Promise<void> = async () => {}
let folders = 0

process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => void leave())
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

async function answer(question: Question): Promise<Answer> {
  try {
    switch (question.ask) {
      case 'folder':
        return { value: mkdtempSync(join(root, `${folders++}-`)) }
      case 'open':
        return { value: await open(question.server, question.folder) }
      case 'close':
        await closeOpen()
        return { value: '' }
    }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** A fresh Redis, or a fresh database on the one PostgreSQL; gives its address. */
async function open(server: ServerName, folder: string): Promise<string> {
  if (server === 'postgres') {
    postgres ??= await startPostgres(join(root, 'postgres'))
    const database = await postgres.createDatabase()
    closeOpen = database.drop
    return database.url
  }
  const redis = await startRedis({ folder, keeps: server === 'redis-aof' ? 'log' : 'snapshots' })
  closeOpen = redis.stop
  return redis.url
}

async function leave(): Promise<void> {
  await closeOpen().catch(() => undefined)
  await postgres?.stop().catch(() => undefined)
  rmSync(root, { recursive: true, force: true })
  process.exit(0)
}
