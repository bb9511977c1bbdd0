import type { FairleadError, MethodName, ParamsOf, ResultOf, Topic } from '@fairlead/client'
import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { line } from './line.ts'
import { restAfter } from './rest.ts'

/** The newest answer to a question, and what is known of it. */
export interface Snapshot<T> {
  readonly data: T | null
  /** Of the newest try; the data is then an older answer. */
  readonly error: FairleadError | null
  /** By the clock of the page; for how old the data is. */
  readonly receivedAt: number | null
}

export interface LiveOptions {
  /** From an answer to the next question; 0 asks once, and again when told to. */
  readonly everyMs?: number
  /** Events after which it is asked at once. */
  readonly on?: readonly Topic[]
}

const EVERY_MS = 500
const KEPT = 60

/** One question that is asked as long as somebody looks at its answer, once for all who do. */
class Question {
  readonly snapshot: Signal<Snapshot<unknown>>
  readonly #method: MethodName
  readonly #params: object
  readonly #everyMs: number
  readonly #on: readonly string[]
  #lookers = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsking = false
  #isStale = false
  #stop: (() => void)[] = []

  constructor(method: MethodName, params: object, { everyMs = EVERY_MS, on = [] }: LiveOptions) {
    this.#method = method
    this.#params = params
    this.#everyMs = everyMs
    this.#on = on
    this.snapshot = signal({ data: null, error: null, receivedAt: null })
  }

  get isLookedAt(): boolean {
    return this.#lookers > 0
  }

  look(): () => void {
    if (this.#lookers++ === 0) this.#begin()
    let isLooking = true
    return () => {
      if (isLooking && --this.#lookers === 0) this.#end()
      isLooking = false
    }
  }

  /** Asks at once; if that is under way, once more behind it. */
  async ask(): Promise<void> {
    if (this.#isAsking) {
      this.#isStale = true
      return
    }
    if (line.state.value !== 'live') return
    clearTimeout(this.#timer)
    this.#isAsking = true
    const startedAt = performance.now()
    try {
      const data = await line.call(this.#method, this.#params as never)
      this.snapshot.value = { data, error: null, receivedAt: performance.now() }
    } catch (error) {
      if (line.state.value === 'live') {
        this.snapshot.value = { ...this.snapshot.value, error: error as FairleadError }
      }
    }
    this.#isAsking = false
    if (!this.isLookedAt) return
    if (this.#isStale) {
      this.#isStale = false
      void this.ask()
    } else if (this.#everyMs > 0) {
      const restMs = restAfter(performance.now() - startedAt, this.#everyMs)
      this.#timer = setTimeout(() => void this.ask(), restMs)
    }
  }

  #begin(): void {
    this.#stop = [
      line.state.subscribe((state) => {
        if (state === 'live') void this.ask()
      }),
      line.onEvent(({ type }) => {
        if (this.#on.includes(type)) void this.ask()
      }),
    ]
  }

  #end(): void {
    clearTimeout(this.#timer)
    for (const stop of this.#stop) stop()
  }
}

const questions = new Map<string, Question>()

function questionOf(method: MethodName, params: object, options: LiveOptions): Question {
  const key = JSON.stringify([method, params, options.everyMs])
  const known = questions.get(key)
  if (known !== undefined) return known
  const made = new Question(method, params, options)
  questions.set(key, made)
  for (const [old, question] of questions) {
    if (questions.size <= KEPT) break
    if (!question.isLookedAt) questions.delete(old)
  }
  return made
}

export interface Live<T> extends Snapshot<T> {
  /** Asks at once. */
  readonly refresh: () => void
}

const NOTHING: Snapshot<never> = { data: null, error: null, receivedAt: null }

/** The answer to a question, asked again and again while it is shown; null params ask nothing. */
export function useLive<const Name extends MethodName>(
  method: Name,
  params: ParamsOf<Name> | null,
  options: LiveOptions = {},
): Live<ResultOf<Name>> {
  const key = params === null ? null : JSON.stringify(params)
  const question = useMemo(
    () => (params === null ? null : questionOf(method, params, options)),
    [method, key, options.everyMs],
  )
  useEffect(() => question?.look(), [question])
  const snapshot = (question?.snapshot.value ?? NOTHING) as Snapshot<ResultOf<Name>>
  return { ...snapshot, refresh: () => void question?.ask() }
}

/** Everything is new for somebody else. */
export function forgetAnswers(): void {
  for (const [key, question] of questions) {
    question.snapshot.value = NOTHING
    if (!question.isLookedAt) questions.delete(key)
  }
}
