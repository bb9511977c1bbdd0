import { invalidParams } from '@fairlead/core/limits'

/** An observer has failed. It is told once for each observer. */
export interface ObserverFailure {
  /** The name of the option, `onDenied` for one. */
  readonly observer: string
  readonly error: unknown
}

export type OnError = (failure: ObserverFailure) => unknown

/** A callback that is told of something. It may be asynchronous; nobody waits for it. */
type Observer<Event> = ((event: Event) => unknown) | undefined

/**
 * Calls the observers that an application gave. One that throws or rejects changes nothing for its caller (LIMIT-17).
 * Its first failure goes to `onError`, or to a warning of the process where there is none or that fails too.
 */
export class Observers {
  readonly #onError: OnError | undefined
  readonly #failed = new Set<string>()

  constructor(onError: OnError | undefined) {
    this.#onError = onError
  }

  tell<Event>(name: string, observer: Observer<Event>, event: Event): void {
    if (observer === undefined) return
    guarded(
      () => observer(event),
      (error) => this.failed(name, error),
    )
  }

  /** Reports the first failure of an observer; later ones would only repeat it. */
  failed(observer: string, error: unknown): void {
    if (this.#failed.has(observer)) return
    this.#failed.add(observer)
    const onError = this.#onError
    if (onError === undefined) return warn(`${observer} failed: ${textOf(error)}`)
    guarded(
      () => onError({ observer, error }),
      (second) =>
        warn(`${observer} failed: ${textOf(error)}; then onError failed: ${textOf(second)}`),
    )
  }
}

/** `InvalidParams` for an observer that is no function: it would fail when it is needed. */
export function checkObservers<T extends object>(
  options: T,
  names: readonly (keyof T & string)[],
): void {
  for (const name of names) {
    const observer = options[name]
    if (observer !== undefined && typeof observer !== 'function') {
      throw invalidParams(name, 'a function, or leave it out')
    }
  }
}

function guarded(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = call()
    if (isThenable(result)) result.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

/** An error is any value, and a hostile one cannot even be written. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  } catch {
    return 'an error that cannot be shown'
  }
}

/** Runtimes at the edge have no process. */
function warn(text: string): void {
  const { process } = globalThis as { process?: { emitWarning?: (text: string) => void } }
  if (typeof process?.emitWarning === 'function') process.emitWarning(text)
  else console.warn(text)
}
