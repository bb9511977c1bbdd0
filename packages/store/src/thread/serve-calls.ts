import { parentPort, workerData } from 'node:worker_threads'
import { FairleadError } from '@fairlead/core'
import { invariant } from '@fairlead/core/internal'
import { asUnavailable } from '../unavailable.ts'
import { ThreadGate } from './thread-gate.ts'
import type { Closable } from './thread-host.ts'
import { type Answer, type Call, Moved, OPENED, type ThreadData } from './thread-messages.ts'

/** Runs an act unless the process exits. An exiting process waits until the act is over. */
export type Pass = (act: () => void) => void

/**
 * The thread's side of a `ThreadHost`. Opens an object and carries out calls in the order in which they were made.
 * A method that returns a promise lets later calls begin before it is over. An object that works outside of a call, such as in
 * a timer, wraps this in `pass`.
 */
export function serveCalls<Data>(
  open: (data: Data, pass: Pass) => Closable | Promise<Closable>,
): void {
  const port = parentPort
  invariant(port !== null, 'this file is started as a thread')
  const { data, path, gate: memory } = workerData as ThreadData
  const gate = new ThreadGate(memory)
  const pass: Pass = (act) => gate.pass(act)
  let served: Closable | null = null

  port.on('message', ({ id, name, args }: Call) => {
    carryOut(id, () => methodOf(served, name)(...args), name === 'close' ? endThread : () => {})
  })
  carryOut(
    OPENED,
    () => open(data as Data, pass),
    (opened) => {
      if (opened === null) endThread()
      else served = opened as Closable
    },
  )

  /** Answers with the outcome of an act. `then` gets its value, or null after an error. */
  function carryOut(id: number, act: () => unknown, then: (value: unknown) => void): void {
    const resolve = (value: unknown): void => {
      then(value)
      // The object itself stays here.
      say(id === OPENED ? { id } : { id, value })
    }
    const reject = (error: unknown): void => {
      then(null)
      say(refusal(id, error))
    }
    pass(() => {
      try {
        const value = act()
        if (value instanceof Promise) value.then(resolve, reject)
        else resolve(value)
      } catch (error) {
        reject(error)
      }
    })
  }

  function say(answer: Answer): void {
    const { id, value } = answer
    try {
      if (value instanceof Moved) port?.postMessage({ id, value: value.value }, [...value.buffers])
      else port?.postMessage(answer)
    } catch (error) {
      port?.postMessage(refusal(id, asText(error)))
    }
  }

  function refusal(id: number, error: unknown): Answer {
    const { code, message, details, cause } =
      error instanceof FairleadError ? error : asUnavailable(path, error)
    try {
      return { id, refusal: { code, message, details, cause: structuredClone(cause) } }
    } catch {
      return { id, refusal: { code, message, details, cause: asText(cause) } }
    }
  }

  /** A thread without a port ends by itself. To terminate one inside of a database driver can crash the process. */
  function endThread(): void {
    // The answer that is under way is still sent.
    queueMicrotask(() => port?.close())
  }
}

function methodOf(served: Closable | null, name: string): (...args: readonly unknown[]) => unknown {
  invariant(served !== null, 'calls are made on an open object')
  const method = (served as unknown as Readonly<Record<string, unknown>>)[name]
  invariant(typeof method === 'function', `${name} is a method`)
  return method.bind(served)
}

function asText(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error))
}
