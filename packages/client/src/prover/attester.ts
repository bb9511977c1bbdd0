import { attestationHash, type Clock, FairleadError } from '@fairlead/core'
import type { AttestationRecord } from '@fairlead/protocol'
import type { Client } from '../client.ts'
import { attestProvider } from './attest-provider.ts'

/** The certificates by which a maker of hardware vouches for the provider's key. */
export interface AttestationOptions {
  /** A class of the server's `registry.attestation_classes`. */
  readonly class: string
  /**
   * Certificates in DER, leaf first and root last. A function is asked anew before an attestation ends, so that renewed
   * certificates are taken from where they lie.
   */
  readonly chain: Chain | (() => Chain | Promise<Chain>)
}

type Chain = readonly Uint8Array[]

interface Parts {
  readonly client: Client
  readonly providerId: string
  readonly secretKey: Uint8Array
  readonly options: AttestationOptions
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** There is another attestation in force. */
  readonly onAttested: (attestation: AttestationRecord) => void
}

/** An attestation is renewed when a tenth of its time is left, and at most an hour before its end. */
const LEAD_PARTS = 10
const LEAD_MAX_MS = 3_600_000
/** How often it is tried again once the attestation is over. */
const RETRY_MS = 60_000
/** How often an answer to a challenge that was replaced is given anew. */
const TRIES_MAX = 5

/** Keeps a provider attested: at the start, and again before an attestation ends (PROVE-3). */
export class Attester {
  readonly #parts: Parts
  #cancel = (): void => {}
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Attests, unless the provider has this very attestation; then watches over its end. */
  async keep(current: AttestationRecord | null): Promise<void> {
    const chain = await this.#chain()
    const hash = this.#hashOf(chain)
    const attestation =
      current?.attestation_hash === hash ? current : await this.#attest(chain, hash)
    this.#parts.onAttested(attestation)
    this.#watch(attestation)
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  /** Another worker of the provider may draw a challenge in between: then its word may be ours, too. */
  async #attest(chain: Chain, hash: string): Promise<AttestationRecord> {
    const { client, providerId, secretKey, options } = this.#parts
    for (let tries = 1; ; tries++) {
      try {
        return await attestProvider(client, {
          ...{ providerId, secretKey, chain },
          class: options.class,
        })
      } catch (error) {
        if (tries === TRIES_MAX || !isOutdated(error)) throw error
        const { provider } = await client.call('aicf.getProvider', { provider_id: providerId })
        if (provider.attestation?.attestation_hash === hash) return provider.attestation
      }
    }
  }

  #watch(attestation: AttestationRecord): void {
    this.#cancel()
    if (this.#isClosed) return
    const { clock } = this.#parts
    const left = attestation.not_after - clock.now()
    const lead = Math.min(LEAD_MAX_MS, Math.ceil(left / LEAD_PARTS))
    const waitMs = left > 0 ? Math.max(1_000, left - lead) : RETRY_MS
    this.#cancel = clock.wakeAt(clock.now() + waitMs, () => void this.#renew(attestation))
  }

  /** The old one stays in force to its end, whatever comes of this. */
  async #renew(before: AttestationRecord): Promise<void> {
    let next = before
    try {
      const chain = await this.#chain()
      const hash = this.#hashOf(chain)
      if (hash === before.attestation_hash) throw this.#endsSoon(before)
      next = await this.#attest(chain, hash)
      this.#parts.onAttested(next)
    } catch (error) {
      if (!this.#isClosed) this.#parts.onError(error)
    }
    this.#watch(next)
  }

  #endsSoon({ not_after }: AttestationRecord): FairleadError {
    const end = new Date(not_after).toISOString()
    return new FairleadError(
      'AttestationError',
      `the attestation of ${this.#parts.providerId} ends at ${end}, and its certificates are the same as before; renew them`,
      { reason: 'expired' },
    )
  }

  async #chain(): Promise<Chain> {
    const { chain } = this.#parts.options
    return typeof chain === 'function' ? chain() : chain
  }

  #hashOf(chain: Chain): string {
    return attestationHash(this.#parts.options.class, chain)
  }
}

function isOutdated(error: unknown): boolean {
  if (!(error instanceof FairleadError) || error.code !== 'AttestationError') return false
  const { reason } = error.details
  return reason === 'challenge' || reason === 'challenge_signature'
}

/** The attestation that proofs have to name at a time. */
export function hashInForce(attestation: AttestationRecord | null, nowMs: number): string | null {
  if (attestation === null) return null
  const { not_before, not_after, attestation_hash } = attestation
  return nowMs >= not_before && nowMs < not_after ? attestation_hash : null
}
