import type { Clock } from '@fairlead/core'

interface Wake {
  readonly at: number
  readonly wake: () => void
}

/** The clock of one run. It stands still until it is moved, also backwards. */
export class SimClock {
  #nowMs: number
  #sessions: ClockSession[] = []
  /** The latest time that it ever showed. */
  latest: number
  /** Grows with everything that an engine asks of its clock. */
  activity = 0

  constructor(nowMs: number) {
    this.#nowMs = nowMs
    this.latest = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  moveTo(nowMs: number): void {
    this.#nowMs = nowMs
    this.latest = Math.max(this.latest, nowMs)
  }

  /** A clock for one engine; a killed engine is never woken again. */
  open(): ClockSession {
    const session = new ClockSession(this)
    this.#sessions = [...this.#sessions.filter(({ isDead }) => !isDead), session]
    return session
  }

  nextWakeAt(): number | null {
    let next: number | null = null
    for (const session of this.#sessions) {
      const at = session.nextWakeAt()
      if (at !== null && (next === null || at < next)) next = at
    }
    return next
  }

  /** Wakes whoever is due; true if that was anybody. */
  fireDue(): boolean {
    let isAny = false
    for (const session of this.#sessions) if (session.fireDue(this.#nowMs)) isAny = true
    return isAny
  }
}

/** What one engine sees of the clock. */
export class ClockSession implements Clock {
  readonly #clock: SimClock
  readonly #wakes = new Set<Wake>()
  isDead = false

  constructor(clock: SimClock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    this.#clock.activity++
    const entry = { at: atMs, wake }
    this.#wakes.add(entry)
    return () => this.#wakes.delete(entry)
  }

  kill(): void {
    this.isDead = true
    this.#wakes.clear()
  }

  nextWakeAt(): number | null {
    let next: number | null = null
    for (const { at } of this.#wakes) if (next === null || at < next) next = at
    return next
  }

  fireDue(nowMs: number): boolean {
    if ((this.nextWakeAt() ?? Number.POSITIVE_INFINITY) > nowMs) return false
    const due = [...this.#wakes].filter(({ at }) => at <= nowMs).sort((a, b) => a.at - b.at)
    for (const entry of due) {
      // A wake may take the next one back.
      if (!this.#wakes.delete(entry)) continue
      this.#clock.activity++
      entry.wake()
    }
    return due.length > 0
  }
}
