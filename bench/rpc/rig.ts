import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BENCH } from '../queue/peer.ts'
import type { WorkerReport } from './reports.ts'

/** The programs of a rig, below `dist`. */
export interface Programs {
  readonly server: string
  readonly worker: string
}

/** A server and its workers, each in a process of its own, gone when it is closed. */
export class Rig {
  readonly url: string
  readonly #programs: Programs
  readonly #folder: string
  readonly #children: ChildProcess[]

  private constructor(programs: Programs, url: string, folder: string, server: ChildProcess) {
    this.url = url
    this.#programs = programs
    this.#folder = folder
    this.#children = [server]
  }

  static async open(programs: Programs): Promise<Rig> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-rpc-'))
    const server = start(programs.server, [folder])
    const { url } = await firstMessage<{ url: string }>(server)
    return new Rig(programs, url, folder, server)
  }

  /** Starts workers; resolves when all are connected. */
  async work(
    workers: number,
    slots: number,
    onReport: (report: WorkerReport) => void,
  ): Promise<void> {
    const connected = Array.from({ length: workers }, async (_, i) => {
      const child = start(this.#programs.worker, [this.url, String(i), String(slots)])
      this.#children.push(child)
      child.on('message', (report: WorkerReport) => onReport(report))
      await firstMessage(child)
    })
    await Promise.all(connected)
  }

  /** The id of the server's process. */
  get serverPid(): number {
    return this.#children[0]?.pid ?? Number.NaN
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map(ended))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Asked to go, it ends by itself, so that a profile is written if one was asked for. */
function ended(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const gone = new Promise((resolve) => child.once('exit', resolve))
  const impatient = setTimeout(() => child.kill('SIGKILL'), 5_000)
  if (child.connected) child.disconnect()
  return gone.then(() => clearTimeout(impatient))
}

function start(program: string, args: readonly string[]): ChildProcess {
  const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '')
  return fork(join(BENCH, 'dist', `${program}.js`), args, {
    execArgv: flags,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

function firstMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message))
    child.once('exit', (code, signal) =>
      reject(new Error(`a process ended with ${code ?? signal}`)),
    )
  })
}
