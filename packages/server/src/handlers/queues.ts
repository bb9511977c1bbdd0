import { type Caller, FairleadError, type Pause } from '@fairlead/core'
import type { PauseKey } from '@fairlead/core/internal'
import type { QueueFigures } from '@fairlead/engine'
import type { CheckedParamsOf, PauseRecord, QueueRecord } from '@fairlead/protocol'
import type { EventMeter } from '../metrics/event-meter.ts'
import { type Call, type Handlers, ownCaller } from '../rpc/call.ts'
import { actingOn } from './acting-on.ts'

export const queuesPause: Handlers['queues.pause'] = async (params, call, { engine }) => ({
  pause: pauseRecord(await engine.pauseQueue(keyOf(params, call), actingOn(call))),
})

export const queuesResume: Handlers['queues.resume'] = async (params, call, { engine }) => ({
  resumed: await engine.resumeQueue(keyOf(params, call), actingOn(call)),
})

export const queuesList: Handlers['queues.list'] = (_, call, { engine, meter }) => {
  const own = call.identity.role === 'requester' ? ownCaller(call) : null
  const pauses = engine.view.pauses()
  const shown =
    own === null ? pauses : pauses.filter(({ caller }) => caller === null || caller === own)
  const now = Date.now()
  return {
    queues: engine.view.queues(own).map((queue) => queueRecord(queue, own, meter, now)),
    pauses: shown.map(pauseRecord),
  }
}

/** The rates are those of all callers, and nobody else's affair. */
function queueRecord(
  { oldestAt, ...queue }: QueueFigures,
  own: Caller | null,
  { names }: EventMeter,
  now: number,
): QueueRecord {
  return {
    ...queue,
    kind: queue.kind as QueueRecord['kind'],
    oldest_wait_ms: oldestAt === null ? null : Math.max(0, now - oldestAt),
    per_second: own === null ? names.perSecond(queue.kind, queue.name, now) : null,
  }
}

/** A requester's word counts for its own jobs, named or not. */
function keyOf(params: CheckedParamsOf<'queues.pause'>, call: Call): PauseKey {
  const { kind, name = null, caller = null } = params
  if (call.identity.role !== 'requester') return { kind, name, caller }
  const own = ownCaller(call)
  if (caller === null || caller === own) return { kind, name, caller: own }
  throw new FairleadError('Forbidden', 'caller: a requester pauses its own jobs only', { caller })
}

function pauseRecord({ kind, name, caller, since }: Pause): PauseRecord {
  return { kind: kind as PauseRecord['kind'], name, caller, paused_at: since }
}
