import type { Market } from '../../market/market.ts'
import type { Provider } from '../provider.ts'
import { admitProvider, changeStanding } from '../provider-status.ts'
import { suspended } from '../standing/standing.ts'
import { type AcceptedAttestation, attestationProblem } from './attestation.ts'
import {
  type AttestationRequest,
  CHALLENGE_MS,
  type Challenge,
  checkAttestation,
} from './check-attestation.ts'

/** Opens a challenge, in place of the one before (ATTEST-2). `value` is 32 random bytes as 0x hex. */
export function openChallenge(market: Market, provider: Provider, value: string): Challenge {
  const challenge = { value, expiresAt: market.nowMs + CHALLENGE_MS }
  market.fund.setChallenge(provider.id, challenge)
  return challenge
}

/** Takes the attestation of a provider in place of the one before (ATTEST-4). */
export function attestProvider(
  market: Market,
  provider: Provider,
  given: Pick<AttestationRequest, 'className' | 'chain' | 'signature'>,
): AcceptedAttestation {
  const { fund, nowMs, policy } = market
  const { attestationClasses: classes, attestationRevoked: revoked } = policy.registry
  const accepted = checkAttestation({
    ...given,
    nowMs,
    chainId: policy.chain.id,
    providerId: provider.id,
    publicKey: provider.publicKey,
    challenge: fund.challenge(provider.id),
    classes,
    revoked,
  })
  fund.setChallenge(provider.id, null)
  setAttestation(market, provider, accepted)
  admitProvider(market, provider)
  const { className, hash, notBefore, notAfter } = accepted
  const about = { providerId: provider.id, class: className, hash, notBefore, notAfter }
  market.emit({ type: 'providerAttested', at: nowMs, ...about })
  return accepted
}

/** An operator gives a provider another key. Its attestation is of the old one, so it ends (PROOF-4). */
export function replaceKey(market: Market, provider: Provider, publicKey: string | null): void {
  if (provider.publicKey === publicKey) return
  provider.publicKey = publicKey
  setAttestation(market, provider, null)
}

/** Classes or revocations have changed: an attestation that no longer stands is removed (ATTEST-5). */
export function recheckAttestations(market: Market): void {
  for (const provider of market.pool.all()) {
    const { attestation } = provider
    if (attestation === null || attestationProblem(attestation, market.policy) === null) continue
    setAttestation(market, provider, null)
    changeStanding(market, provider, suspended(provider.standing))
  }
}

function setAttestation(
  market: Market,
  provider: Provider,
  attestation: AcceptedAttestation | null,
): void {
  provider.attestation = attestation
  market.pool.touch(provider, market.nowMs)
  market.touch.provider(provider)
}
