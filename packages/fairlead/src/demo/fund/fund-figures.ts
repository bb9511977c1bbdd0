/** An epoch with a batch. */
export interface SettledFigures {
  readonly epoch_id: number
  readonly batch_id: string
  readonly claims: number
  readonly gross: number | string
  readonly paid: number | string
  readonly provider: number | string
  readonly miner: number | string
  readonly fund: number | string
  readonly slashed: number | string
  readonly unstaked: number | string
}

export interface FundProviderFigures {
  readonly provider_id: string
  readonly manner: string
  readonly status: string
  /** Of its kind; `-` before the first outcome. */
  readonly band: string
  readonly completed: number
  /** Charged: no proof in time, or failed traps. */
  readonly not_proved: number
  readonly slashed: number | string
  readonly stake: number | string
  readonly available: number | string
}

export interface SlashFigures {
  readonly provider_id: string
  readonly epoch_id: number
  readonly reason: string
  readonly amount: number | string
}

/** What happened in a fund, for a person and for a program. */
export interface FundFigures {
  readonly settlements: readonly SettledFigures[]
  readonly providers: readonly FundProviderFigures[]
  readonly slashes: readonly SlashFigures[]
  /** A payout proof that was verified offline. */
  readonly payout_proof: {
    readonly provider_id: string
    readonly epoch_id: number
    readonly payouts: number
    readonly share: number | string
  } | null
  /** Balances by account; they add up to 0. */
  readonly books: Readonly<Record<string, number | string>>
  /** What did not come out as it should have. */
  readonly wrong: readonly string[]
}
