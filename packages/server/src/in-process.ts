import { FairleadError } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import { errorOfRpc } from '@fairlead/protocol'
import { assemble } from './assemble.ts'
import { LOCAL_ADMIN } from './auth/identity.ts'
import { Ownership } from './events/ownership.ts'
import { PeerSubscriptions } from './events/peer-subscriptions.ts'
import type { Logger } from './log.ts'
import type { Call, Peer } from './rpc/call.ts'
import { JSON_FORMAT } from './rpc/message-format.ts'

/** The methods of a server without a network, for its own process. */
export interface InProcess {
  /** As over a WebSocket: params and results are copies, and a refusal is a `FairleadError`. */
  call(method: string, params: object): Promise<unknown>
  /** Answers what was asked, and stops watching the engine, which stays its owner's. */
  close(): Promise<void>
}

interface Options {
  readonly engine: Engine
  readonly logger: Logger
  /** Hears what a server says by itself: events and progress. */
  readonly notify: (method: string, params: unknown) => void
}

/** The same methods, checks and events as those of a server, for one caller: the local admin (AUTH-2). */
export async function openInProcess({ engine, logger, notify }: Options): Promise<InProcess> {
  const { dispatcher, gate, polls, dispose } = await assemble({
    engine,
    logger,
    listen: { host: '127.0.0.1', port: 0 },
    // Nobody else is there to be protected from this caller.
    limits: {
      requestsPerSecond: 1e9,
      requestsBurst: 1e9,
      // The memory is that of the whole program, not of its jobs alone.
      heapSharePercent: 90,
      readsAtOnce: 64,
      subscriptionsPerSocket: 1_000,
    },
  })
  const subscriptions = new PeerSubscriptions({
    ownership: new Ownership(engine.view),
    max: 1_000,
    send: async (subscription_id, entries) => {
      const events = entries.map(({ event }) => event)
      notify('events.notify', copyOf({ subscription_id, events }))
    },
    tellProgress: (subscription_id, { jobId, percent }) =>
      notify('events.progress', { subscription_id, jobId, percent }),
    failed: (err) => logger.error({ err }, 'events could not be read'),
  })
  const socket: Peer = {
    subscribe: (hub, wanted) => subscriptions.add(hub, wanted),
    unsubscribe: (id) => subscriptions.remove(id),
    serve: () => {
      throw new FairleadError(
        'InvalidState',
        'push: in a process leases come from engine.leaseSource()',
      )
    },
    session: () => null,
    onlyProvider: () => undefined,
  }
  const by: Call = {
    identity: LOCAL_ADMIN,
    socket,
    signal: null,
    traceparent: null,
    requestId: 'in-process',
  }
  return {
    call: async (method, params) => {
      const request = { jsonrpc: '2.0', id: 0, method, params: copyOf(params) }
      const answer = await dispatcher.answerOne(request, by, JSON_FORMAT)
      if (answer?.error !== undefined) throw errorOfRpc(answer.error)
      return copyOf(answer?.result)
    },
    close: async () => {
      subscriptions.close()
      await polls.close()
      await dispatcher.idle()
      await gate.close()
      await dispose()
    },
  }
}

/** As it would arrive over a wire: fields that are undefined are left out, and nobody else can change it. */
function copyOf(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
}
