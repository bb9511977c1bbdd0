import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ModelLimiterOptions } from '../src/index.ts'

export interface PoolProcessOptions extends Pick<ModelLimiterOptions, 'models' | 'jobTypes'> {
  readonly url: string
  readonly startMs: number
  /** 1 is real time; more is faster; 0 is moved by `advance`. */
  readonly speed: number
}

interface Said {
  readonly started?: string
  readonly atMs?: number
  readonly instances?: number
  readonly done?: string
}

/** An instance in a process of its own, which can be stopped and killed. */
export class PoolProcess {
  readonly started: { readonly model: string; readonly atMs: number }[] = []
  /** As it last said how many there are. */
  instances = 0
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()

  constructor(options: PoolProcessOptions) {
    const file = join(import.meta.dirname, 'pool-instance.mjs')
    this.#child = fork(file, [JSON.stringify(options)])
    this.#child.on('message', ({ started, atMs = 0, instances }: Said) => {
      if (started !== undefined) this.started.push({ model: started, atMs })
      if (instances !== undefined) this.instances = instances
      for (const look of this.#waiting) look()
    })
  }

  /** Tells it to do something; resolves when it is done. */
  async act(act: string, given: object = {}): Promise<void> {
    const done = new Promise<void>((resolve) => {
      const hear = (said: Said): void => {
        if (said.done !== act) return
        this.#child.off('message', hear)
        resolve()
      }
      this.#child.on('message', hear)
    })
    this.#child.send({ act, ...given })
    await Promise.race([done, this.#ended()])
  }

  /** Once it is so, as far as this process has said. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended()
  }

  async leave(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.send({ act: 'leave' })
    await this.#ended()
  }

  async #ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit')
    }
  }
}
