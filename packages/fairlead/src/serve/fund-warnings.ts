import { KIND_NAMES, type Policy } from '@fairlead/core'
import { KINDS } from '@fairlead/core/internal'

/** Settings of a fund that trust more than they need to, in sentences for the log of a start (ATTEST-6). */
export function fundWarnings(policy: Policy): string[] {
  return KIND_NAMES.filter(
    (kind) =>
      KINDS[kind].verification(policy) === 'proof' && !policy.registry.attestationRequired[kind],
  ).map(
    (kind) =>
      `${kind} work needs proofs but no attestation: any provider with a key and a stake may prove it. Set registry.attestation_required.${kind} to true, or trust your providers`,
  )
}
