import type { JobRow, KindName, Preset, ProviderOffer } from '@fairlead/core'
import type { TreasurerAct } from '../actors/treasurer.ts'
import type { Dice } from '../dice.ts'
import type { SimLimit } from '../ledger/rules/limit-spans.ts'

/** Who acts in a step. */
export type Actor =
  | 'caller'
  | 'worker'
  | 'operator'
  | 'clock'
  | 'store'
  | 'restart'
  | 'reader'
  | 'prover'
  | 'chain'
export type ClockMove = 'tick' | 'walk' | 'edge' | 'leap' | 'back'
export type OperatorAct =
  | 'policy'
  | 'status'
  | 'revive'
  | 'stake'
  | 'offer'
  | 'cancel'
  | 'opening'
  | TreasurerAct
  | 'pause'
  | 'bulk'

/** How a provider's worker behaves: most of them badly. */
export type Profile =
  | 'honest'
  | 'steady'
  | 'plain'
  | 'slow'
  | 'crasher'
  | 'repeater'
  | 'reorderer'
  | 'decliner'
  | 'failing'
  | 'liar'
  | 'flapping'

export interface ProviderPlan {
  readonly name: string
  readonly offer: Partial<ProviderOffer>
  readonly stake: bigint
  readonly workers: readonly WorkerPlan[]
}

/** A process that serves a provider. */
export interface WorkerPlan {
  readonly slots: number
  readonly profile: Profile
}

export interface CallerPlan {
  readonly name: string
  readonly tier: string
}

/** One in so many calls of the store goes wrong in this way; 0 is never. */
export interface FaultRates {
  readonly fails: number
  readonly lost: number
  readonly late: number
  readonly loadFails: number
  readonly readFails: number
  /** The log and all reads are out of reach for some seconds. */
  readonly outage: number
  /** The same for rows on their way to the tables, which may also take nothing for a long time. */
  readonly applyFails: number
  readonly applyLate: number
  readonly applyOutage: number
  /** The process is killed in the middle of a call. */
  readonly cut: number
  /** One in so many steps shows a defect of the engine, which has to begin again from what is stored. */
  readonly defect: number
}

/** A world to simulate: who takes part, under which policy, and what goes wrong how often. */
export interface Scenario {
  readonly name: string
  readonly about: string
  readonly preset: Preset
  /** Who brings proofs: nobody, the providers, or the blocks of a chain. */
  readonly proofs: 'none' | 'sent' | 'chain'
  /** In written form; drawn anew when the operator changes it. */
  readonly policy: (dice: Dice) => Readonly<Record<string, unknown>>
  readonly callers: readonly CallerPlan[]
  readonly kinds: Readonly<Record<KindName, number>>
  /** Names of tasks; those of `BAD_TASKS` do something to their workers. */
  readonly tasks: readonly string[]
  /** Jobs that nothing keeps from their success but failures of others: they must end COMPLETED. */
  readonly mustSucceed: (job: JobRow) => boolean
  readonly providers: (dice: Dice) => readonly ProviderPlan[]
  readonly actors: Readonly<Record<Actor, number>>
  readonly clock: Readonly<Record<ClockMove, number>>
  readonly operator: Readonly<Record<OperatorAct, number>>
  readonly faults: FaultRates
  /** Limits that jobs are admitted by, where the policy says so too. */
  readonly limits: readonly SimLimit[]
  /** Callers hold back above so many live jobs. */
  readonly liveMax: number
  /** One in so many requests is odd, and one in so many repeats a key. */
  readonly oddOneIn: number
  readonly repeatOneIn: number
  /** One in so many acts of a caller is a cancel; 0 is never. */
  readonly cancelOneIn: number
  /** One in so many acts of a caller is about its schedules; 0 is never. */
  readonly scheduleOneIn: number
  /** One in so many jobs has a dedupe key, and one in so many moves of a worker is a report; 0 is never. */
  readonly dedupeOneIn: number
  readonly reportOneIn: number
  /** Jobs that differ in nothing but fee and time. */
  readonly isUniform: boolean
  /** Options of jobs: `all` but priorities, or priorities alone, or none. */
  readonly options: 'all' | 'priority' | 'none'
  /** All that is taken is assigned, and estimates come true: FAIR-7 must hold. */
  readonly withBound: boolean
}
