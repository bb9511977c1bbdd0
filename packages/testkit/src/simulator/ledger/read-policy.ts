import { type Policy, type Preset, parsePolicy } from '@fairlead/core'

const known = new Map<string, Policy>()

/** The policy that is stored under these two names; each is parsed once. */
export function readPolicy(meta: ReadonlyMap<string, string>): Policy {
  const written = meta.get('policy') ?? '{}'
  const preset = meta.get('preset') as Preset
  const key = preset + written
  let policy = known.get(key)
  if (policy === undefined) {
    policy = parsePolicy(JSON.parse(written), preset)
    if (known.size > 1_000) known.clear()
    known.set(key, policy)
  }
  return policy
}
