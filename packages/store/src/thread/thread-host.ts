import { Worker } from 'node:worker_threads'
import { FairleadError } from '@fairlead/core'
import { TransitMap } from '@fairlead/core/internal'
import { asUnavailable, unavailable } from '../unavailable.ts'
import { shutAtExit, ThreadGate } from './thread-gate.ts'
import { type Answer, type Call, Moved, OPENED, type ThreadData } from './thread-messages.ts'

/** An object that a host can run. */
export interface Closable {
  close(): void | Promise<void>
}

type AnyMethod = (...args: never[]) => unknown

/** The names of the methods of an object, except `close`. */
export type MethodOf<Served> = {
  [Name in keyof Served]: Served[Name] extends AnyMethod ? Name : never
}[Exclude<keyof Served, 'close'>] &
  string

export type ArgsOf<Method> = Method extends (...args: infer Args) => unknown ? Args : never

/** The result of a method as its caller gets it. */
export type ResultOf<Method> = Method extends (...args: never[]) => infer Result
  ? Awaited<Result> extends Moved<infer Value>
    ? Value
    : Awaited<Result>
  : never

/**
 * Runs an object on a thread of its own, or inline, and calls its methods by name. Calls begin in the order in which
 * they are made. All errors are `FairleadError`; others become `StoreUnavailable` with the path. An open host keeps
 * no process alive; a call under way does. If the thread ends, all its calls are rejected.
 *
 * The caller bounds the number of calls that wait.
 */
export class ThreadHost<Served extends Closable> {
  readonly #guest: Guest
  readonly #path: string
  #closed: Promise<void> | null = null

  private constructor(guest: Guest, path: string) {
    this.#guest = guest
    this.#path = path
  }

  /**
   * Starts a file that calls `serveCalls`, named by its built path below `dist`: `log-files/log-thread.js`. `data` is cloned and
   * given to the function that opens the object. Rejects with the error of that function.
   */
  static async onThread<Served extends Closable>(
    file: string,
    { path, data }: { readonly path: string; readonly data: unknown },
  ): Promise<ThreadHost<Served>> {
    const guest = new ThreadGuest(file, { path, data })
    try {
      await guest.opened
    } catch (error) {
      await guest.end()
      throw error
    }
    return new ThreadHost<Served>(guest, path)
  }

  /** Without a thread: each call runs at once, with the same results and errors. */
  static async inline<Served extends Closable>(
    open: () => Served | Promise<Served>,
    { path }: { readonly path: string },
  ): Promise<ThreadHost<Served>> {
    try {
      return new ThreadHost<Served>(new InlineGuest(await open(), path), path)
    } catch (error) {
      throw asFairlead(path, error)
    }
  }

  /** Calls a method. The `moved` buffers are transferred, so the caller loses them. */
  call<Name extends MethodOf<Served>>(
    name: Name,
    args: ArgsOf<Served[Name]>,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<ResultOf<Served[Name]>> {
    if (this.#closed !== null) return Promise.reject(closedError(this.#path))
    return this.#guest.call(name, args, moved) as Promise<ResultOf<Served[Name]>>
  }

  /** Calls `close` of the object behind all other calls, and ends the thread. Later calls are rejected. */
  close(): Promise<void> {
    this.#closed ??= this.#guest.close()
    return this.#closed
  }
}

interface Guest {
  call(name: string, args: readonly unknown[], moved: readonly ArrayBuffer[]): Promise<unknown>
  close(): Promise<void>
}

class InlineGuest implements Guest {
  readonly #served: Closable
  readonly #path: string

  constructor(served: Closable, path: string) {
    this.#served = served
    this.#path = path
  }

  async call(name: string, args: readonly unknown[]): Promise<unknown> {
    try {
      const methods = this.#served as unknown as Record<string, (...args: unknown[]) => unknown>
      const value = await methods[name]?.(...args)
      return value instanceof Moved ? value.value : value
    } catch (error) {
      throw asFairlead(this.#path, error)
    }
  }

  async close(): Promise<void> {
    await this.call('close', [])
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

class ThreadGuest implements Guest {
  readonly opened: Promise<unknown>
  readonly ended: Promise<void>
  readonly #path: string
  readonly #thread: Worker
  readonly #waiting = new TransitMap<number, Waiting>()
  #lastId = OPENED
  #lost: FairleadError | null = null

  constructor(file: string, { path, data }: { readonly path: string; readonly data: unknown }) {
    this.#path = path
    const gate = new ThreadGate()
    const forget = shutAtExit(gate)
    const workerData: ThreadData = { data, path, gate: gate.memory }
    // The built file, also where tests run the sources. Flags of the process, such as loaders, are not for it.
    const url = new URL(`../../dist/${file}`, import.meta.url)
    this.#thread = new Worker(url, { workerData, execArgv: [] })
    this.#thread.on('message', (answer: Answer) => this.#hear(answer))
    this.#thread.on('error', (error) => this.#lose(error))
    this.ended = new Promise((resolve) => {
      this.#thread.on('exit', () => {
        forget()
        this.#lose(new Error('its thread has ended'))
        resolve()
      })
    })
    this.opened = this.#wait(OPENED)
  }

  call(name: string, args: readonly unknown[], moved: readonly ArrayBuffer[]): Promise<unknown> {
    if (this.#lost !== null) return Promise.reject(this.#lost)
    const call: Call = { id: ++this.#lastId, name, args }
    try {
      this.#thread.postMessage(call, [...moved])
    } catch (error) {
      return Promise.reject(asFairlead(this.#path, error))
    }
    return this.#wait(call.id)
  }

  async close(): Promise<void> {
    try {
      // A thread that is gone has nothing to close; its calls were told.
      if (this.#lost === null) await this.call('close', [], [])
    } finally {
      await this.end()
    }
  }

  /** Waits for the thread, which ends by itself. Without a reference the process would end first. */
  async end(): Promise<void> {
    this.#thread.ref()
    await this.ended
  }

  #wait(id: number): Promise<unknown> {
    if (this.#waiting.size === 0) this.#thread.ref()
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  #hear({ id, value, refusal }: Answer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#thread.unref()
    if (refusal === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(refusal))
  }

  #lose(cause: Error): void {
    this.#lost ??= asUnavailable(this.#path, cause)
    for (const { reject } of this.#waiting.values()) reject(this.#lost)
    this.#waiting.clear()
  }
}

function errorOf({ code, message, details, cause }: NonNullable<Answer['refusal']>): FairleadError {
  return new FairleadError(code, message, details, { cause })
}

function asFairlead(path: string, error: unknown): FairleadError {
  return error instanceof FairleadError ? error : asUnavailable(path, error)
}

function closedError(path: string): FairleadError {
  return unavailable(path, 'closed', 'it is closed; open it again')
}
