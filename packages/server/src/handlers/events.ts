import { FairleadError } from '@fairlead/core'
import type { Call, Handlers, Peer } from '../rpc/call.ts'

export const subscribe: Handlers['events.subscribe'] = (params, call, { hub }) =>
  socketOf(call, 'events.subscribe').subscribe(hub, {
    topics: params.topics ?? null,
    afterSeq: params.after_seq ?? null,
    identity: call.identity,
  })

export const unsubscribe: Handlers['events.unsubscribe'] = ({ subscription_id }, call) => ({
  removed: socketOf(call, 'events.unsubscribe').unsubscribe(subscription_id),
})

function socketOf({ socket }: Call, method: string): Peer {
  if (socket !== null) return socket
  throw new FairleadError('InvalidState', `${method} needs a WebSocket; connect to /ws`, { method })
}
