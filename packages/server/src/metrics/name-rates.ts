import type { KindName } from '@fairlead/core'
import { Rate } from './rates.ts'

/** Names that are followed; jobs of further names are not in the rates of any. */
const NAMES_MAX = 1_000

export interface NameRates {
  readonly enqueued: Rate
  readonly completed: Rate
  readonly failed: Rate
}

/** How many jobs of each kind and name come and end a second. */
export class RatesByName {
  readonly #kinds = new Map<KindName, Map<string | null, NameRates>>()
  #size = 0

  add(kind: KindName, name: string | null, what: keyof NameRates, nowMs: number): void {
    let names = this.#kinds.get(kind)
    if (names === undefined) {
      names = new Map()
      this.#kinds.set(kind, names)
    }
    let rates = names.get(name)
    if (rates === undefined) {
      if (this.#size >= NAMES_MAX) return
      this.#size++
      rates = { enqueued: new Rate(), completed: new Rate(), failed: new Rate() }
      names.set(name, rates)
    }
    rates[what].add(nowMs)
  }

  perSecond(
    kind: KindName,
    name: string | null,
    nowMs: number,
  ): { readonly [Name in keyof NameRates]: number } {
    const rates = this.#kinds.get(kind)?.get(name)
    return {
      enqueued: rates?.enqueued.perSecond(nowMs) ?? 0,
      completed: rates?.completed.perSecond(nowMs) ?? 0,
      failed: rates?.failed.perSecond(nowMs) ?? 0,
    }
  }
}
