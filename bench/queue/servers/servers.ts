import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place, ServerName } from '../subject.ts'
import type { Answer, Question } from './keeper.ts'

/** The private servers and temporary folders of a bench; see `keeper.ts`. */
export class Servers {
  readonly #keeper: ChildProcess

  constructor() {
    const file = join(fileURLToPath(import.meta.url), '..', 'keeper.js')
    this.#keeper = fork(file, { detached: true, execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] })
  }

  /** A fresh place for a subject, for the time of one measurement. */
  async use<T>(server: ServerName | null, measure: (place: Place) => Promise<T>): Promise<T> {
    const folder = await this.#ask({ ask: 'folder' })
    const url = server === null ? '' : await this.#ask({ ask: 'open', server, folder })
    try {
      return await measure({ folder, url })
    } finally {
      if (server !== null) await this.#ask({ ask: 'close' })
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** Stops the servers and removes every file. */
  async close(): Promise<void> {
    if (this.#keeper.exitCode !== null) return
    const gone = once(this.#keeper, 'exit')
    if (this.#keeper.connected) this.#keeper.disconnect()
    await gone
  }

  async #ask(question: Question): Promise<string> {
    // After an interrupt nothing is to go on: the process is about to end.
    if (!this.#keeper.connected) return new Promise(() => {})
    const reply = once(this.#keeper, 'message') as Promise<[Answer]>
    this.#keeper.send(question)
    const [answer] = await reply
    if ('error' in answer) throw new Error(answer.error)
    return answer.value
  }
}
