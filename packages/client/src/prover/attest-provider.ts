import { attestationHash, attestationMessage, type ProviderId, signEd25519 } from '@fairlead/core'
import type { AttestationRecord } from '@fairlead/protocol'
import type { Client } from '../client.ts'
import { hexOf } from '../wire/hex.ts'

/** A provider, its secret seed, and the certificates that vouch for its key. */
export interface AttestationRequest {
  readonly providerId: string
  readonly secretKey: Uint8Array
  /** A class of the server's `registry.attestation_classes`. */
  readonly class: string
  /** Certificates in DER, leaf first and root last. */
  readonly chain: readonly Uint8Array[]
}

/** Draws a challenge, signs it and gives the attestation that the server accepted (ATTEST-2). */
export async function attestProvider(
  client: Client,
  { providerId, secretKey, class: className, chain }: AttestationRequest,
): Promise<AttestationRecord> {
  const asked = { provider_id: providerId }
  const { challenge, chain_id } = await client.call('aicf.getChallenge', asked)
  const message = attestationMessage({
    chainId: BigInt(chain_id),
    providerId: providerId as ProviderId,
    challenge,
    attestationHash: attestationHash(className, chain),
  })
  const { attestation } = await client.call('aicf.attest', {
    ...asked,
    class: className,
    chain: chain.map(hexOf),
    signature: hexOf(signEd25519(secretKey, message)),
  })
  return attestation
}
