import type { Caller } from '../encoding/ids.ts'
import { compareText } from '../encoding/text.ts'
import { KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import { FairleadError } from '../errors.ts'
import type { Shape } from '../order/queued-job.ts'

/** The jobs that a pause holds back: those of a kind, of one name or all, of one caller or all. */
export interface PauseKey {
  /** Registrations go by their sessions and cannot be paused. */
  readonly kind: KindName
  /** The model of an ai job or the name of a task; null is any. */
  readonly name: string | null
  /** Null is any. */
  readonly caller: Caller | null
}

export interface Pause extends PauseKey {
  readonly since: number
}

/** The kinds that can be paused (PAUSE-1). */
export const PAUSABLE_KINDS = KIND_NAMES.filter((kind) => kind !== 'registration')

export const PAUSES_MAX = 1_000

/**
 * What is paused (PAUSE-1). Jobs of one shape are alike to a pause, so a round asks once for each group that it
 * looks at, and not at all while nothing is paused.
 */
export class Pauses {
  readonly #byKey: Map<string, Pause>

  constructor(pauses: readonly Pause[] = []) {
    this.#byKey = new Map(pauses.map((pause) => [pauseId(pause), pause]))
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

  /** Returns the new pause, or the one that is there already. */
  add({ kind, name, caller }: PauseKey, nowMs: number): { pause: Pause; isNew: boolean } {
    const id = pauseId({ kind, name, caller })
    const known = this.#byKey.get(id)
    if (known !== undefined) return { pause: known, isNew: false }
    if (this.#byKey.size >= PAUSES_MAX) {
      throw new FairleadError(
        'LimitExceeded',
        `queues.pause: ${PAUSES_MAX} pauses are in force; resume one of them first`,
        { limit: 'queues.pause', max: PAUSES_MAX, observed: PAUSES_MAX + 1 },
      )
    }
    const pause: Pause = { kind, name, caller, since: nowMs }
    this.#byKey.set(id, pause)
    return { pause, isNew: true }
  }

  /** False if this was not paused. */
  remove(key: PauseKey): boolean {
    return this.#byKey.delete(pauseId(key))
  }

  /** True if just this is paused, and not only a part of it. */
  isPaused(key: PauseKey): boolean {
    return !this.isEmpty && this.#byKey.has(pauseId(key))
  }

  /** True if all jobs of a kind are held back. */
  holdsKind(kind: KindName): boolean {
    return this.isPaused({ kind, name: null, caller: null })
  }

  /** The widest pause that holds jobs of a shape back; null if none does. */
  holding({ kind, model, caller }: Pick<Shape, 'kind' | 'model' | 'caller'>): Pause | null {
    if (this.isEmpty) return null
    const of = (name: string | null, by: Caller | null) =>
      this.#byKey.get(pauseId({ kind, name, caller: by }))
    const ofAll = of(null, null) ?? of(null, caller)
    if (ofAll !== undefined || model === null) return ofAll ?? null
    return of(model, null) ?? of(model, caller) ?? null
  }

  /** In order of kind, name and caller. */
  list(): Pause[] {
    return [...this.#byKey].sort(([a], [b]) => compareText(a, b)).map(([, pause]) => pause)
  }
}

/** Text that names a pause. */
export function pauseId({ kind, name, caller }: PauseKey): string {
  return JSON.stringify([kind, name, caller])
}
