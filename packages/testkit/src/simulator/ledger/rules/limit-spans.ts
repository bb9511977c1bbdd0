import type { JobRow, Limit } from '@fairlead/core'
import type { Book, JobEntry } from '../book.ts'
import type { Misfit } from './fits.ts'

/** A limit of a scenario, and how much of it a job needs, said apart from the policy. */
export interface SimLimit {
  /** Rolling or concurrency; defined at the start and never changed. */
  readonly limit: Extract<Limit, { kind: 'rolling' | 'concurrency' }>
  /** 0 where it needs none. */
  readonly amountOf: (job: JobRow) => number
}

/** Something was given of a limit, at a time. */
export interface Given {
  readonly at: number
  readonly amount: number
}

/**
 * Whether an assignment takes a limit over its capacity, counted from the journal alone: in the span of the
 * window that ends now, or over all leases that are live now (ADMIT-3, LIMIT-4, LIMIT-6).
 */
export function limitMisfit(book: Book, { facts }: JobEntry, atMs: number): Misfit | null {
  for (const { limit, amountOf } of book.limits) {
    const amount = amountOf(facts)
    if (amount === 0) continue
    const used = limit.kind === 'rolling' ? inSpan(book, limit, atMs) : inFlight(book, amountOf)
    if (used + amount > limit.capacity) {
      const why = `${used} + ${amount} of ${limit.key} are over ${limit.capacity}`
      return { invariant: 'limit-span', why }
    }
  }
  return null
}

/** A job that has to wait for its turn at a limit: something of it was given a short time ago. */
export function isRationed({ limits, given }: Book, { facts }: JobEntry, atMs: number): boolean {
  return limits.some(({ limit, amountOf }) => {
    if (limit.kind !== 'rolling' || amountOf(facts) === 0) return false
    // A slice is freed as a whole, so it may take a little longer than the window.
    const last = given.get(limit.key)?.at(-1)?.at ?? 0
    return atMs < last + 1_100 * limit.windowSecs
  })
}

export function noteGiven({ limits, given }: Book, { facts }: JobEntry, at: number): void {
  for (const { limit, amountOf } of limits) {
    const amount = amountOf(facts)
    if (amount === 0) continue
    const all = given.get(limit.key)
    if (all === undefined) given.set(limit.key, [{ at, amount }])
    else all.push({ at, amount })
  }
}

function inSpan({ given }: Book, limit: Extract<Limit, { kind: 'rolling' }>, atMs: number): number {
  const all = given.get(limit.key) ?? []
  const since = atMs - 1_000 * limit.windowSecs
  let sum = 0
  for (let i = all.length - 1; i >= 0 && (all[i] as Given).at > since; i--) {
    sum += (all[i] as Given).amount
  }
  return sum
}

function inFlight({ live }: Book, amountOf: SimLimit['amountOf']): number {
  let sum = 0
  for (const { job } of live) sum += amountOf(job.facts)
  return sum
}
