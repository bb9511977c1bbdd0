import { callerOf } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { type RunningServer, startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { connect, type NodeClient, type RemoteWorkerOptions, type Worker } from '../src/index.ts'
import { CuttableLine } from './cuttable-line.ts'

/** A real server on a real socket, a line to it that can be cut, and a client on that line. */
export class ServerRig {
  readonly engine: Engine
  readonly line: CuttableLine
  readonly client: NodeClient
  readonly #server: RunningServer
  readonly #workers: Worker[] = []

  private constructor(engine: Engine, server: RunningServer, line: CuttableLine) {
    this.engine = engine
    this.#server = server
    this.line = line
    this.client = connect(line.url)
  }

  static async open(policy: object = {}): Promise<ServerRig> {
    const engine = await openEngine({ store: new MemoryStore(), policy })
    const server = await startServer({ engine, listen: { host: '127.0.0.1', port: 0 } })
    const line = await CuttableLine.to(Number(new URL(server.url).port))
    return new ServerRig(engine, server, line)
  }

  /** A worker for tasks of provider:atlas on the line, two at once unless it is said otherwise. */
  worker(
    handler: RemoteWorkerOptions<'task', string>['handler'],
    more: Partial<RemoteWorkerOptions<'task', string>> = {},
  ): Worker {
    const worker = this.client.worker({
      providerId: 'provider:atlas',
      kinds: ['task'],
      concurrency: 2,
      drainMs: null,
      onError: () => {},
      ...more,
      handler,
    })
    this.#workers.push(worker)
    worker.closed.catch(() => undefined)
    return worker
  }

  async enqueue(n: number): Promise<string> {
    const payload = { name: 'echo', args: { n } }
    return (await this.client.enqueue({ kind: 'task', payload })).task_id
  }

  /** The actions of a job's timeline. */
  async story(taskId: string): Promise<string[]> {
    const { entries } = await this.client.call('aicf.getTimeline', { task_id: taskId })
    return entries.map(({ action }) => action)
  }

  async close(): Promise<void> {
    this.line.isDown = false
    await Promise.all(this.#workers.map((worker) => worker.stop({ graceMs: 0 }).catch(() => {})))
    await this.client.close()
    await this.line.close()
    await this.#server.close()
    await this.engine.close()
  }
}

export const LOCAL = callerOf('local')
