import { KIND_NAMES } from '../enqueue/kinds.ts'
import { FairleadError } from '../errors.ts'
import { type Policy, type Preset, parsePolicy } from './policy.ts'

/**
 * A policy under which every kind of work can be done. A setting that nothing can satisfy would make every job of a kind
 * wait for ever, so it is refused by name (ENGINE-12).
 */
export function usablePolicy(written: unknown, preset: Preset): Policy {
  const policy = parsePolicy(written, preset)
  const { attestationRequired, attestationClasses } = policy.registry
  const attested = new Set(Object.values(attestationClasses).flatMap(({ kinds }) => kinds))
  const problems = KIND_NAMES.filter(
    (kind) => attestationRequired[kind] && !attested.has(kind),
  ).map(
    (kind) =>
      `registry.attestation_required.${kind}: expected false, or a class in registry.attestation_classes that names ${kind}`,
  )
  if (problems.length === 0) return policy
  throw new FairleadError(
    'InvalidParams',
    `the policy has settings that nothing can satisfy:\n- ${problems.join('\n- ')}`,
    {
      field: 'policy',
      problems,
    },
  )
}
