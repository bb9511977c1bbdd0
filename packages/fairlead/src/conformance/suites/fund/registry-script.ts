import {
  FairleadError,
  type KindName,
  newProvider,
  type Policy,
  type Provider,
  type ProviderId,
  parsePolicy,
} from '@fairlead/core'
import {
  admitted,
  changeStake,
  FUND,
  jailed,
  Ledger,
  NEW_STANDING,
  penaltyEnd,
  providerRefusal,
  type Standing,
  setStanding,
  showU64,
  slashable,
  stakeAccount,
  statusOf,
  suspended,
  unstakingAccount,
  unstakingSum,
  withoutHealth,
} from '@fairlead/core/internal'
import { givenAmount, type Json, refusal } from '../../suite.ts'

/** A script of `sla`: stake, attestation, slashes and an operator's words, and the statuses that they make. */
export function registryScript({ registry, steps }: Json): Json {
  const script = new RegistryScript(registry)
  return { steps: steps.map((step: Json) => script.step(step)) }
}

/** The maturity of unstaking plays no part, because nothing is closed. */
const UNSTAKE_MS = 86_400_000

class RegistryScript {
  readonly #ledger = new Ledger()
  readonly #providers = new Map<string, { provider: Provider; standing: Standing }>()
  readonly #epochSecs: number
  #policy: Policy
  #now = 0

  constructor({ min_stake = {}, attestation_required = [], epoch_secs = 3_600 }: Json) {
    this.#epochSecs = epoch_secs
    const required = Object.fromEntries(attestation_required.map((kind: string) => [kind, true]))
    const written = { min_stake, attestation_required: required }
    const policy = parsePolicy({ registry: written }, 'fund')
    // Heartbeats play no part.
    this.#policy = { ...policy, registry: { ...policy.registry, liveness: 'worker' } }
  }

  step(step: Json): Json {
    this.#now = Math.max(this.#now, step.at)
    const run = step.op === 'tick' ? () => {} : this.#ops[step.op]
    if (run === undefined) throw new TypeError(`unknown op ${step.op}`)
    const error = refusal(() => {
      run(step)
      if (step.op !== 'tick') this.#settle(step.provider_id)
    })
    return { error, providers: this.#shown() }
  }

  readonly #ops: Readonly<Record<string, (step: Json) => void>> = {
    register: ({ provider_id: id, kinds }) => {
      if (this.#providers.has(id)) throw new FairleadError('InvalidState', 'registered already')
      const offer = { capabilities: new Set<KindName>(kinds) }
      const provider = newProvider({ id: id as ProviderId, offer, lastHeartbeat: this.#now })
      this.#providers.set(id, { provider, standing: NEW_STANDING })
    },
    offer: ({ provider_id: id, kinds }) => {
      const { provider } = this.#get(id)
      provider.offer = { ...provider.offer, capabilities: new Set<KindName>(kinds) }
    },
    stake: ({ provider_id: id, amount: given }) => {
      this.#get(id)
      this.#ledger.stake(id, givenAmount(given))
    },
    unstake: ({ provider_id: id, amount: given }) => {
      this.#get(id)
      this.#ledger.unstake(id, givenAmount(given), this.#now + UNSTAKE_MS)
    },
    attest: ({ provider_id: id, kinds, not_before: notBefore, not_after: notAfter }) => {
      const className = `of ${kinds.join(', ')}`
      const { attestationClasses: classes } = this.#policy.registry
      const attestationClasses = { ...classes, [className]: { kinds, roots: [] } }
      this.#policy = {
        ...this.#policy,
        registry: { ...this.#policy.registry, attestationClasses },
      }
      this.#get(id).provider.attestation = { notBefore, notAfter, className }
    },
    revoke: ({ provider_id: id }) => {
      const entry = this.#get(id)
      if (entry.provider.attestation === null) return
      entry.provider.attestation = null
      entry.standing = suspended(entry.standing)
    },
    health_zero: ({ provider_id: id }) => {
      const entry = this.#get(id)
      entry.standing = withoutHealth(entry.standing, this.#now)
    },
    slash: (step) => {
      const entry = this.#get(step.provider_id)
      const span = { nowMs: this.#now, epochSecs: this.#epochSecs }
      this.#slash(step.provider_id, givenAmount(step.amount))
      entry.standing = jailed(entry.standing, { ...span, epochs: step.jail_epochs })
      const { provider } = entry
      provider.cooldownUntil = penaltyEnd(provider.cooldownUntil, {
        ...span,
        epochs: step.cooldown_epochs,
      })
    },
    status: ({ provider_id: id, status }) => {
      const entry = this.#get(id)
      entry.standing = setStanding(entry.standing, status)
    },
  }

  #get(id: string): { provider: Provider; standing: Standing } {
    const entry = this.#providers.get(id)
    if (entry === undefined) throw new FairleadError('NotFound', `there is no provider ${id}`)
    return entry
  }

  /** The part of a close that is about stake. */
  #slash(id: string, asked: bigint): void {
    const staked = this.#ledger.staked(id)
    const change = changeStake(id, staked, { debit: slashable(asked, staked), nowMs: 0 })
    const { debits } = change
    const transfers = [
      { from: stakeAccount(id), to: FUND, amount: debits.stake },
      { from: unstakingAccount(id), to: FUND, amount: debits.unstaking },
    ]
    this.#ledger.apply(
      transfers.filter((transfer) => transfer.amount > 0n),
      [change],
    )
  }

  /** The consequences of every command about a provider. */
  #settle(id: string): void {
    const entry = this.#get(id)
    const { provider } = entry
    const { stake } = this.#ledger.staked(id)
    provider.stake = stake
    const { attestation, offer } = provider
    const credentials = { kinds: offer.capabilities, stake, attestation }
    const terms = { nowMs: this.#now, policy: this.#policy }
    entry.standing = admitted(entry.standing, credentials, terms)
  }

  #shown(): Json {
    const rows = [...this.#providers].map(([id, { provider, standing }]) => {
      const status = statusOf(standing, this.#now)
      const { stake, unstaking } = this.#ledger.staked(id)
      // A provider that an operator paused gets no work either.
      provider.status = status === 'PAUSED' ? 'SUSPENDED' : status
      const reasons = [...provider.offer.capabilities].map((kind) => [
        kind,
        providerRefusal(provider, kind, this.#now, this.#policy),
      ])
      const shown = {
        status,
        stake: showU64(stake),
        unstaking: showU64(unstakingSum(unstaking)),
        reasons: Object.fromEntries(reasons),
      }
      return [id, shown]
    })
    return Object.fromEntries(rows)
  }
}
