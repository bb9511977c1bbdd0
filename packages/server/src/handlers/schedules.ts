import { type Caller, FairleadError, type Schedule } from '@fairlead/core'
import { scheduleId } from '@fairlead/core/internal'
import type { ScheduleRecord } from '@fairlead/protocol'
import { type Call, type Handlers, noteRead, ownCaller } from '../rpc/call.ts'
import { actingOn } from './acting-on.ts'
import { refuseOwnName } from './own-names.ts'

export const schedulesPut: Handlers['schedules.put'] = async (params, call, { engine }) => {
  const { id, cron, timezone, request, overlap, catch_up, paused } = params
  refuseOwnName(request)
  const schedule = await engine.schedules.put(
    {
      caller: ownerOf(params, call),
      id,
      cron,
      request,
      tier: call.identity.tier,
      ...(timezone === undefined ? {} : { timezone }),
      ...(overlap === undefined ? {} : { overlap }),
      ...(catch_up === undefined ? {} : { catchUp: catch_up }),
      ...(paused === undefined ? {} : { isPaused: paused }),
    },
    actingOn(call),
  )
  return { schedule: scheduleRecord(schedule) }
}

export const schedulesGet: Handlers['schedules.get'] = (params, call, services) => {
  const caller = ownerOf(params, call)
  const schedule = services.engine.schedules.get({ caller, id: params.id })
  if (schedule === null) {
    const why = `there is no schedule ${params.id}; see schedules.list`
    throw new FairleadError('NotFound', why, { id: params.id })
  }
  noteRead(call, 'schedules.get', [caller], services)
  return { schedule: scheduleRecord(schedule) }
}

export const schedulesList: Handlers['schedules.list'] = (params, call, services) => {
  const { cursor = '', limit = 100 } = params
  const isOwn = call.identity.role === 'requester'
  const wanted = isOwn || params.caller !== undefined ? ownerOf(params, call) : null
  const all = services.engine.schedules.list(wanted)
  const rest = all.filter((schedule) => scheduleId(schedule) > cursor)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  noteRead(
    call,
    'schedules.list',
    page.map(({ caller }) => caller),
    services,
  )
  return {
    schedules: page.map(scheduleRecord),
    cursor: rest.length > limit && last !== undefined ? scheduleId(last) : null,
  }
}

export const schedulesDelete: Handlers['schedules.delete'] = async (params, call, { engine }) => {
  const key = { caller: ownerOf(params, call), id: params.id }
  return { deleted: await engine.schedules.delete(key, actingOn(call)) }
}

export const schedulesTrigger: Handlers['schedules.trigger'] = async (params, call, services) => {
  services.heap.refuseWhenFull()
  const key = { caller: ownerOf(params, call), id: params.id }
  const { idempotency_key = null } = params
  return { task_id: await services.engine.schedules.trigger(key, idempotency_key) }
}

/** A schedule belongs to its caller; only an operator may name another one. */
function ownerOf({ caller }: { readonly caller?: Caller | undefined }, call: Call): Caller {
  const own = ownCaller(call)
  if (caller === undefined || caller === own || call.identity.role !== 'requester') {
    return caller ?? own
  }
  throw new FairleadError('Forbidden', 'caller: a requester has its own schedules only', { caller })
}

function scheduleRecord(schedule: Schedule): ScheduleRecord {
  const { id, caller, cron, timezone, request, overlap, catchUp, isPaused } = schedule
  return {
    id,
    caller,
    cron,
    timezone,
    overlap,
    catch_up: catchUp,
    paused: isPaused,
    request: JSON.parse(request) as Record<string, unknown>,
    next_at: schedule.nextAt,
    last_at: schedule.lastAt,
    last_task_id: schedule.lastJob,
  }
}
