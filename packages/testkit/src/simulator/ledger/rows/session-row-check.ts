import { decodeCbor } from '@fairlead/core'
import type { KeyedRow } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import type { Book } from '../book.ts'
import type { BudgetCells } from '../sessions/org-account.ts'

type Pairs = readonly (readonly [eventId: string, value: number])[]

/** Compares what is stored of sessions and dispatch keys with the account (DISPATCH-7). */
export class SessionRowCheck {
  readonly #book: Book

  constructor(book: Book) {
    this.#book = book
  }

  compare(lanes: readonly KeyedRow[], atMs: number): void {
    for (const { lane, key, value } of lanes) {
      if (lane !== 'session' && lane !== 'session.org') continue
      const cells = value === null ? null : (decodeCbor(value) as unknown[])
      if (lane === 'session') this.#compareSession(key, cells, atMs)
      if (lane === 'session.org') this.#compareOrg(key, cells, atMs)
    }
  }

  #compareSession(key: string, cells: readonly unknown[] | null, atMs: number): void {
    const { sessions, policy } = this.#book
    if (cells === null) return sessions.forget(key, policy, atMs)
    const due = sessions.sessions.get(key)?.opensAt
    if (cells[0] === due) return
    broken('rows', `session ${key} is stored as opening at ${String(cells[0])}, not ${due}`)
  }

  /** Tokens, throttle and cursor after a restart are those of the row, so it has to be exact. */
  #compareOrg(key: string, cells: readonly unknown[] | null, atMs: number): void {
    const org = this.#book.sessions.orgs.get(key)
    if (org === undefined) broken('rows', `dispatch key ${key} is stored and was never used`)
    if (cells === null) return this.#forgetOrg(key, atMs)
    const policy = this.#book.sessions.policyOf(org.platform)
    org.advance(policy, atMs)
    const [budget, servedLast, lastSends, figures] = cells as [
      BudgetCells,
      string | null,
      Pairs,
      Pairs,
    ]
    const isFigured = figures.every(([eventId, figure]) => org.figures.get(eventId) === figure)
    if (!isFigured) broken('rows', `dispatch key ${key} is stored with figures of its own`)
    // A row is as of the last change of its budget.
    const [stored, due] = [org.cellsAt(budget, policy, atMs), org.cells()].map((all) =>
      JSON.stringify(all),
    )
    if (stored !== due) broken('rows', `dispatch key ${key} is stored as ${stored}, not ${due}`)
    if (servedLast !== org.servedLast) {
      broken('rows', `dispatch key ${key} has served ${servedLast} last, not ${org.servedLast}`)
    }
    for (const [eventId, at] of lastSends) {
      if (org.lastSends.get(eventId) === at) continue
      broken('rows', `the last send of ${eventId} is stored as ${at}`)
    }
  }

  /** Only one that would be the same again when it is used next. */
  #forgetOrg(key: string, atMs: number): void {
    const { sessions } = this.#book
    const org = sessions.orgs.get(key)
    if (org === undefined) return
    const policy = sessions.policyOf(org.platform)
    org.advance(policy, atMs)
    const isKnown = [...sessions.sessions.keys()].some((id) =>
      id.startsWith(`${key.slice(0, -1)},`),
    )
    if (isKnown || org.jobs.size > 0 || !org.isFresh(policy, atMs)) {
      broken('session-budget', `dispatch key ${key} is forgotten, and was not as new`)
    }
    sessions.orgs.delete(key)
  }
}
