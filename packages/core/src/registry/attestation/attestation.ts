import type { KindName } from '../../enqueue/kinds.ts'
import { classNamed } from '../../policy/attestation-policy.ts'
import type { Policy } from '../../policy/policy.ts'
import type { Attestation } from '../provider.ts'

/** An attestation that was checked by this version: nothing of it is missing. */
export type AcceptedAttestation = Required<Attestation>

type Settings = Pick<Policy, 'registry'>

/** True if the attestation is in force for a kind of work (ATTEST-4). */
export function isAttestedFor(
  kind: KindName,
  attestation: Attestation | null,
  nowMs: number,
  policy: Settings,
): boolean {
  if (attestation === null) return false
  if (nowMs < attestation.notBefore || nowMs >= attestation.notAfter) return false
  return kindsOf(attestation, policy)?.includes(kind) !== false
}

/** The kinds that its class names; null if it was stored without a class, which stands for all kinds. */
export function kindsOf(
  { className }: Attestation,
  { registry }: Settings,
): readonly KindName[] | null {
  if (className === undefined) return null
  return classNamed(registry.attestationClasses, className)?.kinds ?? []
}

/** Why an accepted attestation no longer stands under changed settings; null if it does (ATTEST-5). */
export function attestationProblem(
  { className, fingerprints }: Attestation,
  { registry }: Settings,
): 'revoked' | 'root_not_pinned' | null {
  if (className === undefined || fingerprints === undefined) return null
  if (fingerprints.some((one) => registry.attestationRevoked.includes(one))) return 'revoked'
  const roots = classNamed(registry.attestationClasses, className)?.roots ?? []
  return roots.includes(fingerprints.at(-1) as string) ? null : 'root_not_pinned'
}
