import { compareText } from '../../encoding/text.ts'
import { KIND_NAMES, type KindName } from '../../enqueue/kinds.ts'
import type { Band, Sla } from '../../policy/sla-policy.ts'
import { withOffence } from '../../registry/sla/judge.ts'
import type { Outcome } from '../../registry/sla/outcome.ts'
import { OutcomeWindow } from '../../registry/sla/outcome-window.ts'

type Windows = Map<KindName, OutcomeWindow>

/** Called with the key of an outcome that was added or dropped. */
type Touched = (key: string) => void

const NO_WINDOWS: ReadonlyMap<KindName, OutcomeWindow> = new Map()

/** How well each provider served: its newest outcomes of each kind, and the epochs in which it was slashed (SLA-9). */
export class ServiceBook {
  readonly #windows = new Map<string, Windows>()
  readonly #offences = new Map<string, readonly number[]>()

  /** Every provider that has outcomes, in byte order. */
  providers(): string[] {
    return [...this.#windows.keys()].sort(compareText)
  }

  windows(providerId: string): ReadonlyMap<KindName, OutcomeWindow> {
    return this.#windows.get(providerId) ?? NO_WINDOWS
  }

  /** The band of a provider without outcomes is that of a new one. */
  band(providerId: string, kind: KindName, sla: Sla): Band {
    return (this.#windows.get(providerId)?.get(kind) ?? NEW_WINDOW).band(sla)
  }

  offences(providerId: string): readonly number[] {
    return this.#offences.get(providerId) ?? []
  }

  addOffence(providerId: string, epoch: number): void {
    this.#offences.set(providerId, withOffence(this.offences(providerId), epoch))
  }

  record(providerId: string, kind: KindName, outcome: Outcome, sla: Sla, touched: Touched): void {
    const window = this.#window(providerId, kind)
    const { first } = window
    touched(keyOf(providerId, kind, window.record(outcome, sla)))
    this.#tellDropped(providerId, kind, first, window.first, touched)
  }

  /** The policy's window may have become smaller. */
  trim({ window: size }: Pick<Sla, 'window'>, touched: Touched): void {
    for (const [providerId, windows] of this.#windows) {
      for (const [kind, window] of windows) {
        const { first } = window
        window.trim(size)
        this.#tellDropped(providerId, kind, first, window.first, touched)
      }
    }
  }

  /** The outcome of this key; null if it was dropped. */
  outcome(key: string): Outcome | null {
    const { providerId, kind, n } = partsOf(key)
    return this.#windows.get(providerId)?.get(kind)?.at(n) ?? null
  }

  restore(
    outcomes: readonly (readonly [key: string, outcome: Outcome])[],
    offences: readonly (readonly [providerId: string, epochs: readonly number[]])[],
  ): void {
    const rows = outcomes.map(([key, outcome]) => ({ ...partsOf(key), outcome }))
    rows.sort((a, b) => a.n - b.n)
    const lists = new Map<string, typeof rows>()
    for (const row of rows) {
      const name = `${row.providerId} ${row.kind}`
      lists.set(name, [...(lists.get(name) ?? []), row])
    }
    for (const list of lists.values()) {
      const [{ providerId, kind, n: first }] = list as [(typeof rows)[number]]
      const state = { first, outcomes: list.map(({ outcome }) => outcome) }
      this.#windowsOf(providerId).set(kind, new OutcomeWindow(state))
    }
    for (const [providerId, epochs] of offences) this.#offences.set(providerId, epochs)
  }

  #tellDropped(
    providerId: string,
    kind: KindName,
    from: number,
    to: number,
    touched: Touched,
  ): void {
    for (let n = from; n < to; n++) touched(keyOf(providerId, kind, n))
  }

  #window(providerId: string, kind: KindName): OutcomeWindow {
    const windows = this.#windowsOf(providerId)
    let window = windows.get(kind)
    if (window === undefined) {
      window = new OutcomeWindow()
      windows.set(kind, window)
    }
    return window
  }

  #windowsOf(providerId: string): Windows {
    let windows = this.#windows.get(providerId)
    if (windows === undefined) {
      windows = new Map()
      this.#windows.set(providerId, windows)
    }
    return windows
  }
}

const NEW_WINDOW = new OutcomeWindow()

function keyOf(providerId: string, kind: KindName, n: number): string {
  return `${providerId} ${kind} ${n}`
}

function partsOf(key: string): { providerId: string; kind: KindName; n: number } {
  const [providerId, kind, n] = key.split(' ') as [string, string, string]
  return { providerId, kind: KIND_NAMES.find((each) => each === kind) as KindName, n: Number(n) }
}
