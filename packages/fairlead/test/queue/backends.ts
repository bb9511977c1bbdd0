import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@fairlead/engine'
import { startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/store/memory'

export interface Place {
  readonly target: string
  /** Ends what is behind the target, after its queues were closed. */
  remove(): Promise<void>
}

/** Where a queue may be; it is the same queue everywhere. */
export const BACKENDS: readonly (readonly [name: string, make: () => Promise<Place>])[] = [
  ['memory', async () => ({ target: ':memory:', remove: async () => {} })],
  ['file', filePlace],
  ['server', serverPlace],
]

export async function filePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-queue-'))
  return {
    target: join(folder, 'jobs.db'),
    remove: async () => rmSync(folder, { recursive: true }),
  }
}

export async function serverPlace(): Promise<Place> {
  const engine = await openEngine({ store: new MemoryStore() })
  const server = await startServer({ engine, listen: { host: '127.0.0.1', port: 0 } })
  return {
    target: server.url,
    remove: async () => {
      await server.close()
      await engine.close()
    },
  }
}

export interface Deferred<Value> {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
}

export function deferred<Value = void>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
