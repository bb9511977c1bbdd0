import type { Limiter } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { type RunningServer, type ServerLimits, startServer } from '@fairlead/server'
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
  #seenSeq = 0

  private constructor(engine: Engine, server: RunningServer, line: CuttableLine) {
    this.engine = engine
    this.#server = server
    this.line = line
    this.client = connect(line.url)
  }

  /** With tokens, nobody gets in without: there is one that the test does not know. */
  static async open(
    policy: object = {},
    {
      hasTokens = false,
      limits = {},
      limiter,
    }: { hasTokens?: boolean; limits?: Partial<ServerLimits>; limiter?: Limiter } = {},
  ): Promise<ServerRig> {
    const engine = await openEngine({ store: new MemoryStore(), policy })
    const tokens = hasTokens ? { verify: () => null, isEmpty: () => false } : null
    const listen = { host: '127.0.0.1', port: 0 }
    const server = await startServer({
      engine,
      tokens,
      listen,
      limits,
      ...(limiter === undefined ? {} : { limiter }),
    })
    const line = await CuttableLine.to(Number(new URL(server.url).port))
    return new ServerRig(engine, server, line)
  }

  /** A worker for tasks of provider:atlas on the line, two at once unless it is said otherwise. */
  worker(
    handler: RemoteWorkerOptions<'task', unknown>['handler'],
    more: Partial<RemoteWorkerOptions<'task', unknown>> = {},
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

  /** Resolves when a worker is connected. */
  async connected(): Promise<void> {
    await this.happened('workerConnected')
  }

  /** Resolves with the first event of a type behind those that were waited for before. */
  async happened(type: string, jobId?: string): Promise<void> {
    const stop = await new Promise<() => void>((resolve) => {
      const listening = this.engine.onEvent((event) => {
        if (event.type !== type || (jobId !== undefined && !('jobId' in event))) return
        if (jobId !== undefined && (event as { jobId?: string }).jobId !== jobId) return
        if (event.seq <= this.#seenSeq) return
        this.#seenSeq = event.seq
        void listening.then(resolve)
      }, 0)
    })
    stop()
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
