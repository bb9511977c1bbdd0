import type { Acting } from '@fairlead/engine'
import { actingAs, type Call, ownCaller } from '../rpc/call.ts'

/** The actor of a change of settings: the token of an operator, the caller of a requester. */
export function actingOn(call: Call): Acting {
  return call.identity.role === 'requester' ? { actor: ownCaller(call) } : actingAs(call)
}
