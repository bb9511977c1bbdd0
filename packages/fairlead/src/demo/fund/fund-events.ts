import type { WireEvent } from '@fairlead/client'
import { amountText } from './amount-text.ts'
import type { SlashFigures } from './fund-figures.ts'

type Settled = WireEvent & { readonly type: 'epochSettled' }

/** The totals that the demo looks at. */
interface Totals {
  readonly claims: number
  readonly unstaked: Readonly<Record<string, number | string>>
}

/** What the events of a server tell of its fund. */
export class FundEvents {
  readonly attested = new Set<string>()
  readonly settled: Settled[] = []
  readonly slashes: SlashFigures[] = []
  /** By provider: completed jobs, and leases that were not proved. */
  readonly completedBy = new Map<string, number>()
  readonly unprovedBy = new Map<string, number>()
  readonly slashedBy = new Map<string, bigint>()
  readonly #unsettled: Omit<SlashFigures, 'epoch_id'>[] = []
  readonly #holders = new Map<string, string>()
  completed = 0
  #wake: () => void = () => {}

  take(event: WireEvent): void {
    if (event.type === 'providerAttested') this.attested.add(event.providerId)
    else if (event.type === 'jobAssigned') this.#holders.set(event.jobId, event.providerId)
    else if (event.type === 'jobCompleted') {
      this.completed++
      count(this.completedBy, event.providerId)
    } else if (event.type === 'jobRequeued' && event.reason === 'PROOF_INVALID') {
      count(this.unprovedBy, this.#holders.get(event.jobId) ?? '')
    } else if (event.type === 'providerSlashed') this.#slashed(event)
    else if (event.type === 'epochSettled') this.#settle(event)
    this.#wake()
  }

  /** All jobs are settled, and all stake that was taken out is paid. */
  isSettled(jobs: number, takenOut: number): boolean {
    const totals = this.settled.map((event) => event.totals as Totals)
    const claims = totals.reduce((sum, one) => sum + one.claims, 0)
    const paid = totals.flatMap(({ unstaked }) => Object.values(unstaked))
    return claims === jobs && paid.reduce<number>((sum, one) => sum + Number(one), 0) === takenOut
  }

  /** Resolves when it is so, or with the signal. */
  async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    while (!isSo() && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #slashed(event: WireEvent & { readonly type: 'providerSlashed' }): void {
    const { providerId, reason, penalty } = event
    const before = this.slashedBy.get(providerId) ?? 0n
    this.slashedBy.set(providerId, before + BigInt(penalty))
    this.#unsettled.push({ provider_id: providerId, reason, amount: amountText(BigInt(penalty)) })
  }

  /** The batch of an epoch comes behind its slashes, and tells its number. */
  #settle(event: Settled): void {
    this.settled.push(event)
    const { epochId: epoch_id } = event
    for (const slash of this.#unsettled.splice(0)) this.slashes.push({ ...slash, epoch_id })
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
