import {
  advanceMarket,
  changePolicy,
  FairleadError,
  type KindName,
  type Market,
  newProvider,
  openMarket,
  type Policy,
  type Provider,
  type ProviderId,
  parsePolicy,
  registerProvider,
  setProviderStatus,
  updateOffer,
} from '@fairlead/core'
import {
  admitProvider,
  changeStake,
  changeStanding,
  FUND,
  jailed,
  mirrorStake,
  penaltyEnd,
  providerRefusal,
  showU64,
  slashable,
  stakeAccount,
  stakeProvider,
  unstakeProvider,
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

/** Stands for the only certificate of a provider's chain. */
const fingerprintOf = (providerId: string): string => `fingerprint of ${providerId}`

class RegistryScript {
  readonly #market: Market

  constructor({ min_stake = {}, attestation_required = [], epoch_secs = 3_600 }: Json) {
    const required = Object.fromEntries(attestation_required.map((kind: string) => [kind, true]))
    const policy = parsePolicy(
      {
        registry: { min_stake, attestation_required: required },
        queue: { quotas: { epoch_secs } },
      },
      'fund',
    )
    // Heartbeats play no part.
    const registry = { ...policy.registry, liveness: 'worker' as const }
    this.#market = openMarket({ policy: { ...policy, registry }, nowMs: 0 })
  }

  step(step: Json): Json {
    advanceMarket(this.#market, step.at)
    const run = step.op === 'tick' ? () => {} : this.#ops[step.op]
    if (run === undefined) throw new TypeError(`unknown op ${step.op}`)
    const error = refusal(() => run(step))
    return { error, providers: this.#shown() }
  }

  readonly #ops: Readonly<Record<string, (step: Json) => void>> = {
    register: ({ provider_id: id, kinds }) => {
      const offer = { capabilities: new Set<KindName>(kinds) }
      const lastHeartbeat = this.#market.nowMs
      const provider = newProvider({ id, offer, status: 'REGISTERED', lastHeartbeat })
      registerProvider(this.#market, provider)
    },
    offer: ({ provider_id: id, kinds }) =>
      updateOffer(this.#market, this.#get(id), { capabilities: new Set<KindName>(kinds) }),
    stake: ({ provider_id: id, amount }) =>
      stakeProvider(this.#market, this.#get(id), givenAmount(amount)),
    unstake: ({ provider_id: id, amount }) =>
      unstakeProvider(this.#market, this.#get(id), givenAmount(amount)),
    attest: ({ provider_id: id, kinds, not_before: notBefore, not_after: notAfter }) => {
      const provider = this.#get(id)
      const fingerprint = fingerprintOf(id)
      const className = `of ${id} for ${kinds.join(', ')}`
      this.#changeRegistry(({ attestationClasses, attestationRevoked }) => ({
        attestationClasses: { ...attestationClasses, [className]: { kinds, roots: [fingerprint] } },
        attestationRevoked: attestationRevoked.filter((one) => one !== fingerprint),
      }))
      const hash = `hash of ${className}`
      provider.attestation = { notBefore, notAfter, className, hash, fingerprints: [fingerprint] }
      admitProvider(this.#market, provider)
    },
    revoke: ({ provider_id: id }) => {
      this.#get(id)
      this.#changeRegistry(({ attestationRevoked }) => ({
        attestationRevoked: [...attestationRevoked, fingerprintOf(id)],
      }))
    },
    health_zero: ({ provider_id: id }) => {
      const provider = this.#get(id)
      const { nowMs } = this.#market
      changeStanding(this.#market, provider, withoutHealth(provider.standing, nowMs))
      admitProvider(this.#market, provider)
    },
    slash: ({ provider_id: id, amount, jail_epochs, cooldown_epochs }) => {
      const provider = this.#get(id)
      const { nowMs, policy } = this.#market
      const span = { nowMs, epochSecs: policy.queue.quotas.epochSecs }
      this.#slash(provider, givenAmount(amount))
      const { standing, cooldownUntil } = provider
      provider.cooldownUntil = penaltyEnd(cooldownUntil, { ...span, epochs: cooldown_epochs })
      changeStanding(this.#market, provider, jailed(standing, { ...span, epochs: jail_epochs }))
      admitProvider(this.#market, provider)
    },
    status: ({ provider_id: id, status }) => {
      const provider = this.#get(id)
      setProviderStatus(this.#market, provider, status)
      admitProvider(this.#market, provider)
    },
  }

  #get(id: string): Provider {
    const provider = this.#market.pool.get(id as ProviderId)
    if (provider !== undefined) return provider
    throw new FairleadError('NotFound', `there is no provider ${id}`)
  }

  #changeRegistry(change: (registry: Policy['registry']) => Partial<Policy['registry']>): void {
    const { policy } = this.#market
    const registry = { ...policy.registry, ...change(policy.registry) }
    changePolicy(this.#market, { ...policy, registry })
  }

  /** The part of a close that is about stake. */
  #slash(provider: Provider, asked: bigint): void {
    const { id } = provider
    const { ledger } = this.#market.fund
    const staked = ledger.staked(id)
    const change = changeStake(id, staked, { debit: slashable(asked, staked), nowMs: 0 })
    const { debits } = change
    const transfers = [
      { from: stakeAccount(id), to: FUND, amount: debits.stake },
      { from: unstakingAccount(id), to: FUND, amount: debits.unstaking },
    ]
    ledger.apply(
      transfers.filter((transfer) => transfer.amount > 0n),
      [change],
    )
    mirrorStake(this.#market, provider)
  }

  #shown(): Json {
    const { nowMs, policy, fund, pool } = this.#market
    const rows = pool.all().map((provider) => {
      const { stake, unstaking } = fund.ledger.staked(provider.id)
      const reasons = [...provider.offer.capabilities].map((kind) => [
        kind,
        providerRefusal(provider, kind, nowMs, policy),
      ])
      const shown = {
        status: provider.status,
        stake: showU64(stake),
        unstaking: showU64(unstakingSum(unstaking)),
        reasons: Object.fromEntries(reasons),
      }
      return [provider.id, shown]
    })
    return Object.fromEntries(rows)
  }
}
