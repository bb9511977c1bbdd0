import { METHODS, type MethodName } from '@fairlead/protocol'
import type { Identity } from '../auth/identity.ts'
import { LOCAL_ADMIN } from '../auth/identity.ts'
import { type Handlers, ownCaller } from '../rpc/call.ts'

export const whoami: Handlers['auth.whoami'] = (_, call, { shown }) => {
  const { identity } = call
  const { role, subject, tokenId, scope } = identity
  return {
    role,
    subject,
    token_id: tokenId,
    caller: ownCaller(call),
    is_open: identity === LOCAL_ADMIN,
    scope: {
      kinds: copied(scope?.kinds),
      models: copied(scope?.models),
      platforms: copied(scope?.platforms),
      limits: copied(scope?.limits),
      read_only: scope?.readOnly === true,
    },
    methods: (Object.keys(METHODS) as MethodName[])
      .filter((name) => mayCall(identity, name))
      .sort(),
    shows_payloads: shown.payloads,
    version: shown.version,
  }
}

/** By role and by reading alone; what a scope names counts for each call. */
export function mayCall({ role, scope }: Identity, name: MethodName): boolean {
  const { roles, access } = METHODS[name] as { roles: readonly string[]; access: string }
  if (scope?.readOnly === true && access === 'write') return false
  return role === 'admin' || roles.includes(role)
}

function copied(list: readonly string[] | undefined): string[] | null {
  return list === undefined ? null : [...list]
}
