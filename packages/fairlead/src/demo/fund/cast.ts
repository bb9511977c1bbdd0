/** A provider of the demo of the fund, and what is wrong with it. */
export interface FundProvider {
  readonly name: string
  /** In a few words, for the report. */
  readonly manner: string
  readonly kind: 'ai' | 'quantum'
  readonly stake: number
  /** How long a unit takes it, between these. */
  readonly unitMs: readonly [number, number]
  /** Of every n-th job too many traps fail. */
  readonly failsTrapsEvery?: number
  /** The proof of every n-th job comes after the proof timeout. */
  readonly provesLateEvery?: number
  /** Taken out of its stake in the first epoch. */
  readonly takesOut?: number
}

/** Five, of which one is all right. */
export const FUND_PROVIDERS: readonly FundProvider[] = [
  { name: 'atlas', manner: 'honest', kind: 'ai', stake: 20_000, unitMs: [10, 40] },
  { name: 'borealis', manner: 'slow', kind: 'ai', stake: 20_000, unitMs: [130, 240] },
  {
    name: 'cirrus',
    manner: 'its traps fail',
    kind: 'quantum',
    stake: 60_000,
    unitMs: [10, 40],
    failsTrapsEvery: 3,
  },
  {
    name: 'delta',
    manner: 'proves late at times',
    kind: 'ai',
    stake: 20_000,
    unitMs: [10, 40],
    provesLateEvery: 16,
  },
  {
    name: 'ember',
    manner: 'takes stake out',
    kind: 'quantum',
    stake: 80_000,
    unitMs: [10, 40],
    takesOut: 15_000,
  },
]

/** The class of hardware that all of them have. */
export const HARDWARE = 'enclave'

/** Trap circuits in each quantum job. */
export const TRAP_SHOTS = 100

/** Who came out of a job's traps well, and who did not. */
export const TRAPS_PASSED = { well: 100, badly: 60 } as const

/** As a fund is run, with numbers so small that a few dozen jobs an epoch decide. */
export function fundPolicy(terms: {
  readonly epochSecs: number
  readonly proofTimeoutSecs: number
  /** The fingerprint of the pinned root. */
  readonly root: string
}) {
  const { epochSecs, proofTimeoutSecs, root } = terms
  return {
    queue: {
      quotas: { epoch_secs: epochSecs, leases_max_per_provider: 8 },
      completion: {
        ai_verification: 'proof',
        quantum_verification: 'proof',
        proof_timeout_secs: proofTimeoutSecs,
      },
      retries: { base_backoff_ai_secs: 1, base_backoff_quantum_secs: 1 },
    },
    registry: {
      attestation_required: { ai: true, quantum: true },
      attestation_classes: { [HARDWARE]: { kinds: ['ai', 'quantum'], roots: [root] } },
      unstake_delay_secs: epochSecs,
      // The close of an epoch is to judge, not the health of a moment.
      min_health: 0,
      cooldown_after: 1_000,
    },
    sla: {
      min_samples: 5,
      bands: {
        gold: { p95_ms: 100, fail_ppm: 10_000, availability_ppm: 990_000 },
        silver: { p95_ms: 160, fail_ppm: 30_000, availability_ppm: 975_000 },
        bronze: { p95_ms: 600, fail_ppm: 70_000, availability_ppm: 950_000 },
      },
      slash: { traps: { samples: 200 }, fails: { samples: 20 } },
      severity: { critical: { slash: 30_000, cooldown_epochs: 2, jail_epochs: 2 } },
    },
  } as const
}
