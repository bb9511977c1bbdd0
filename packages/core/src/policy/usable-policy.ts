import { KIND_NAMES } from '../enqueue/kinds.ts'
import { FairleadError } from '../errors.ts'
import { type Policy, type Preset, parsePolicy } from './policy.ts'

/**
 * A policy that this version of the engine supports. A setting that nothing can satisfy yet would make every job
 * of a kind wait for ever, so it is refused by name (ENGINE-12).
 */
export function usablePolicy(written: unknown, preset: Preset): Policy {
  const policy = parsePolicy(written, preset)
  const problems: string[] = []
  const { aiVerification, quantumVerification, taskVerification } = policy.queue.completion
  const verification = { ai: aiVerification, quantum: quantumVerification, task: taskVerification }
  for (const [kind, how] of Object.entries(verification)) {
    if (how === 'none') continue
    problems.push(
      `queue.completion.${kind}_verification: expected none, got ${how}; this version takes no proofs, so such a job could never complete`,
    )
  }
  for (const kind of KIND_NAMES) {
    if (!policy.registry.attestationRequired[kind]) continue
    problems.push(
      `registry.attestation_required.${kind}: expected false, got true; this version takes no attestations, so no provider could get such a job`,
    )
  }
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
