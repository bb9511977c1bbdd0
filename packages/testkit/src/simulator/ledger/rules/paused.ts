import type { Caller, JobRow } from '@fairlead/core'
import { broken } from '../../violation.ts'
import type { Details } from '../journal/journal-reader.ts'

interface Paused {
  readonly kind: string
  readonly name: string | null
  readonly caller: Caller | null
}

/** What is paused, by the journal: each pause begins once and ends once (PAUSE-1). */
export class PausedQueues {
  readonly #all: Paused[] = []

  get all(): readonly Paused[] {
    return this.#all
  }

  /** Each field of a pause is the job's own, or open. */
  holds({ kind, model, caller }: Pick<JobRow, 'kind' | 'model' | 'caller'>): boolean {
    return this.#all.some(
      (one) =>
        one.kind === kind &&
        (one.name ?? model) === model &&
        (one.caller === null || one.caller === caller),
    )
  }

  begin(details: Details): void {
    const paused = pausedBy(details)
    if (this.#find(paused) >= 0) broken('paused', `${JSON.stringify(paused)} is paused twice`)
    this.#all.push(paused)
  }

  end(details: Details): void {
    const paused = pausedBy(details)
    const index = this.#find(paused)
    if (index < 0) broken('paused', `${JSON.stringify(paused)} is resumed and was not paused`)
    this.#all.splice(index, 1)
  }

  /** An engine has to know the same ones. */
  compare(known: readonly Paused[]): void {
    const missing = this.#all.find((one) => !known.some((other) => isSame(one, other)))
    if (missing !== undefined) broken('memory', `the engine forgot that ${text(missing)} is paused`)
    if (known.length !== this.#all.length) {
      broken('memory', `${known.length} pauses are in memory, ${this.#all.length} in the log`)
    }
  }

  #find(paused: Paused): number {
    return this.#all.findIndex((one) => isSame(one, paused))
  }
}

function pausedBy(details: Details): Paused {
  const { jobId: kind, name, caller } = details as Readonly<Record<string, string | null>>
  return { kind: kind as string, name: name ?? null, caller: (caller ?? null) as Caller | null }
}

function isSame(a: Paused, b: Paused): boolean {
  return a.kind === b.kind && a.name === b.name && a.caller === b.caller
}

function text({ kind, name, caller }: Paused): string {
  return `${kind} ${name ?? '*'} of ${caller ?? '*'}`
}
