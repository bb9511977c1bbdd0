import type { JobId } from '@fairlead/core'
import type { KeyedRow } from '@fairlead/core/internal'
import { firstDifference } from '../../checks/first-difference.ts'
import type { SimDisk } from '../../store/sim-disk.ts'
import { broken, type InvariantName } from '../../violation.ts'
import type { Line } from './closes.ts'
import type { FundBook } from './fund-book.ts'

const PREFIX = 'fund.'
type Cells = Readonly<Record<string, unknown>>

/** Compares the stored pieces of a fund with the account (FUND-1): a restart goes on from them. */
export class FundRowCheck {
  readonly #fund: FundBook

  constructor(fund: FundBook) {
    this.#fund = fund
  }

  compare(lanes: readonly KeyedRow[], disk: SimDisk): void {
    const names = new Set<string>()
    for (const { lane, key } of lanes) {
      if (lane.startsWith(PREFIX) || lane === HELD) names.add(JSON.stringify([lane, key]))
    }
    if (names.size === 0) return
    const due = this.#due()
    for (const name of names) this.#compareOne(name, due.get(name), disk)
  }

  compareAll(disk: SimDisk): void {
    const due = this.#due()
    for (const [name, { lane }] of disk.lanes) {
      if (!lane.startsWith(PREFIX) || due.has(name)) continue
      if (!IGNORED.has(lane)) broken(invariantOf(lane), `${name} is stored, and is over`)
    }
    for (const name of due.keys()) this.#compareOne(name, due.get(name), disk)
  }

  #compareOne(name: string, due: unknown, disk: SimDisk): void {
    const [lane] = JSON.parse(name) as [string]
    if (IGNORED.has(lane)) return
    const stored = disk.lanes.get(name)
    const found = stored === undefined ? undefined : lane === HELD ? true : read(stored.value)
    const kept = project(found, due)
    const difference = firstDifference(kept, due)
    if (difference !== null)
      broken(invariantOf(lane), `${name} is stored otherwise than it is due: ${difference}`)
  }

  /** What must be stored, by lane and key; of each row the fields that follow from the account. */
  #due(): Map<string, unknown> {
    const due = new Map<string, unknown>()
    const set = (part: string, key: string, value: unknown): void => {
      due.set(JSON.stringify([PREFIX + part, key]), value)
    }
    const { provings, money, closes, service } = this.#fund
    for (const { facts, proving } of provings.all) {
      if (proving === null) continue
      const { lease, since, unitMs, claim } = proving
      due.set(JSON.stringify([HELD, facts.id]), true)
      if (claim === null) set('await', facts.id, { leaseId: lease.id, since, unitMs })
      else {
        const { claimKey, nullifier, blockHeight, place, minerId, unitsPpm } = claim
        const shown = { claimKey, nullifier, blockHeight, place, minerId, unitsPpm }
        set('claim', facts.id, { ...shown, unitMs, leaseId: lease.id })
      }
    }
    const { head, finalHeight } = provings
    if (head !== null) set('chain', '', { head, finalHeight })
    for (const [account, balance] of money.balances) set('balance', account, balance)
    for (const [providerId, list] of money.unstaking) set('unstaking', providerId, list)
    for (const [reference, payout] of money.payouts) set('payout', reference, payout)
    for (const line of closes.lines) set(`line.${line.epochId}`, line.claim.claimKey, lineOf(line))
    for (const [key, { result, epoch, unitMs, traps }] of service.kept()) {
      set('outcome', key, { result, epoch, unitMs, traps })
    }
    for (const [providerId, epochs] of service.offences) {
      set('offences', providerId, epochs.slice(-2))
    }
    const { begun, lastClosed, previous, active, hasClaims } = closes
    if (begun !== null) {
      const { epochId, at, slashes } = begun
      const list = [...slashes].map(([providerId, amount]) => ({ providerId, amount }))
      set('closing', '', { epochId, nowMs: at, slashes: list })
    }
    if (lastClosed !== null || active.length > 0)
      set('epochs', '', { lastClosed, previous, active, hasClaims })
    return due
  }
}

const HELD = 'held_result'
/** Of a challenge nothing follows here. */
const IGNORED: ReadonlySet<string> = new Set([`${PREFIX}challenge`])

/** Only the fields that the account knows. */
function project(found: unknown, due: unknown): unknown {
  if (Array.isArray(found) || Array.isArray(due)) return withoutNothing(found)
  if (typeof found !== 'object' || found === null) return found
  if (typeof due !== 'object' || due === null) return found
  const kept = Object.keys(due).map((key) => [key, withoutNothing((found as Cells)[key])])
  return Object.fromEntries(kept)
}

/** A slash of nothing is no slash. */
function withoutNothing(list: unknown): unknown {
  if (!Array.isArray(list)) return list
  return list.filter((one: unknown) => (one as Cells | null)?.['amount'] !== 0n)
}

function lineOf({ claim, job, providerId, epochId, rate, qPpm, dPpm, gross, split }: Line): Cells {
  const { minerId, nullifier, unitsPpm } = claim
  const taskId: JobId = job.facts.id
  return {
    taskId,
    providerId,
    minerId,
    nullifier,
    unitsPpm,
    epochId,
    rate,
    qPpm,
    dPpm,
    gross,
    split,
  }
}

function invariantOf(lane: string): InvariantName {
  const part = lane.startsWith(PREFIX) ? (lane.slice(PREFIX.length).split('.')[0] ?? '') : lane
  return BY_PART[part] ?? 'settlements'
}

const BY_PART: Readonly<Record<string, InvariantName>> = {
  await: 'proof',
  claim: 'proof',
  held_result: 'claim-final',
  chain: 'chain',
  balance: 'books',
  unstaking: 'books',
  payout: 'books',
  outcome: 'service',
  offences: 'service',
}

function read(value: Uint8Array): unknown {
  return JSON.parse(Buffer.from(value).toString('utf8'), (_, item: unknown) => {
    const digits = (item as Cells | null)?.['$n']
    return typeof digits === 'string' ? BigInt(digits) : item
  })
}
