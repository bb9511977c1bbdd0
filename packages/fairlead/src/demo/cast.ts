import { type Caller, callerOf, type KindName, type Policy, parsePolicy } from '@fairlead/core'

/** What a simulated provider does with its leases; the shares are in thousandths of them. */
export interface Behaviour {
  readonly declines: number
  /** Says nothing to an offer. */
  readonly ignores: number
  readonly fails: number
  /** Acks and is never heard of again. */
  readonly vanishes: number
  /** How long the work takes, between these. */
  readonly workMs: readonly [number, number]
}

/** A provider of the cast: what it offers, what it puts up, how it behaves. */
export interface Member {
  readonly name: string
  readonly kinds: readonly KindName[]
  readonly models: readonly string[]
  readonly stake: bigint
  readonly health?: number
  readonly slots?: number
  readonly behaviour?: Partial<Behaviour>
}

/** The rules as an operator of a fund runs them, with leases short enough to see some expire. */
export const POLICY: Policy = parsePolicy(
  {
    queue: {
      ack_timeout_ms: 2_000,
      lease: { ai_secs: 30, quantum_secs: 20, task_secs: 30 },
      quotas: { leases_max_per_provider: 3 },
      // Proofs and payments have a demo of their own.
      completion: { ai_verification: 'none', quantum_verification: 'none' },
    },
  },
  'fund',
)

export const STEADY: Behaviour = {
  declines: 0,
  ignores: 0,
  fails: 10,
  vanishes: 0,
  workMs: [2_000, 9_000],
}

/** A dozen providers: what they offer, what they put up, and how they behave. */
export const CAST: readonly Member[] = [
  { name: 'atlas', kinds: ['ai'], models: ['llama3-8b', 'llama3-70b'], stake: 80_000n },
  { name: 'borealis', kinds: ['ai'], models: ['llama3-8b'], stake: 20_000n, slots: 2 },
  { name: 'cirrus', kinds: ['ai'], models: ['*'], stake: 15_000n, behaviour: { declines: 250 } },
  { name: 'delta', kinds: ['ai'], models: ['llama3-8b', 'mixtral'], stake: 30_000n, health: 700 },
  { name: 'ember', kinds: ['ai'], models: ['mixtral'], stake: 25_000n, behaviour: { fails: 200 } },
  {
    name: 'fjord',
    kinds: ['ai', 'task'],
    models: ['*'],
    stake: 40_000n,
    behaviour: { vanishes: 80 },
  },
  { name: 'gale', kinds: ['task'], models: ['*'], stake: 0n },
  {
    name: 'halo',
    kinds: ['quantum'],
    models: [],
    stake: 60_000n,
    behaviour: { workMs: [4_000, 12_000] },
  },
  {
    name: 'iris',
    kinds: ['quantum'],
    models: [],
    stake: 55_000n,
    slots: 1,
    behaviour: { ignores: 150 },
  },
  { name: 'juno', kinds: ['ai'], models: ['llama3-70b'], stake: 9_000n },
  { name: 'kelp', kinds: ['ai'], models: ['llama3-70b'], stake: 12_000n, health: 550 },
  {
    name: 'lumen',
    kinds: ['ai'],
    models: ['llama3-8b'],
    stake: 10_000n,
    slots: 1,
    behaviour: { fails: 450 },
  },
]

export const CALLERS: readonly { readonly caller: Caller; readonly tier: string }[] = [
  { caller: callerOf('acme'), tier: 'PREMIUM' },
  { caller: callerOf('birch'), tier: 'PRO' },
  { caller: callerOf('cobalt'), tier: 'PRO' },
  { caller: callerOf('dune'), tier: 'FREE' },
  { caller: callerOf('elm'), tier: 'FREE' },
]
