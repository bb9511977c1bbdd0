import {
  type Caller,
  type CborMap,
  type Clock,
  FairleadError,
  type JobId,
  type Schedule,
} from '@fairlead/core'
import {
  acceptRequest,
  CATCH_UPS,
  invalidParams,
  isPlainObject,
  jsonOf,
  OVERLAPS,
  SCHEDULE_ID,
  type ScheduleKey,
  type SchedulePlan,
} from '@fairlead/core/internal'
import type { Acting, EnqueueRequest } from './commands/command.ts'
import { type EngineLoop, type EnqueueReply, jobIdOf } from './loop/engine-loop.ts'
import { cadenceOf } from './schedules/cadence.ts'

/** A schedule as it is asked for. */
export interface ScheduleRequest extends ScheduleKey {
  /** Five fields, or six with the seconds in front. */
  readonly cron: string
  /** `UTC` if left out. */
  readonly timezone?: string
  /** The request of its jobs, in the form of the API. */
  readonly request: Readonly<Record<string, unknown>>
  /** `FREE` if left out. */
  readonly tier?: string
  /** `allow` if left out. */
  readonly overlap?: Schedule['overlap']
  /** `last` if left out. */
  readonly catchUp?: Schedule['catchUp']
  readonly isPaused?: boolean
}

const REQUEST_BYTES_MAX = 65_536
/** Fields that each job of a schedule gets by itself. */
const NOT_SCHEDULED = [
  'caller',
  'chain_id',
  'enqueue_block',
  'enqueue_block_height',
  'tx_hash',
  'idempotency_key',
]
const NO_KEY = new Uint8Array(32)

/** The schedules of an engine: jobs that are enqueued by the clock. */
export class EngineSchedules {
  readonly #loop: EngineLoop
  readonly #clock: Clock
  readonly #random: () => Uint8Array

  constructor(loop: EngineLoop, clock: Clock, random: () => Uint8Array) {
    this.#loop = loop
    this.#clock = clock
    this.#random = random
  }

  /** Adds a schedule, or replaces the one of this id. */
  async put(asked: ScheduleRequest, acting: Acting | null = null): Promise<Schedule> {
    if (!isPlainObject(asked)) throw invalidParams('schedule', 'an object')
    const plan = this.#planOf(asked)
    const cadence = cadenceOf(plan.cron, plan.timezone)
    const { market } = this.#loop.state
    const firstAt = cadence.after(Math.max(this.#clock.now(), market.nowMs))
    if (firstAt === null) {
      throw new FairleadError(
        'InvalidParams',
        `cron: ${plan.cron} has no time within five years; choose one that comes`,
        { field: 'cron' },
      )
    }
    const actor = acting?.actor
    return this.#loop.submit({ type: 'putSchedule', ...plan, firstAt, actor }) as Promise<Schedule>
  }

  get(key: ScheduleKey): Schedule | null {
    return this.#loop.state.market.schedules.get(key)
  }

  /** In order of caller and id; of one caller, or of all. */
  list(caller: Caller | null = null): Schedule[] {
    const all = this.#loop.state.market.schedules.list()
    return caller === null ? all : all.filter((schedule) => schedule.caller === caller)
  }

  /** False if there is none. Jobs that it has enqueued stay. */
  delete({ caller, id }: ScheduleKey, acting: Acting | null = null): Promise<boolean> {
    const actor = acting?.actor
    return this.#loop.submit({ type: 'deleteSchedule', caller, id, actor }) as Promise<boolean>
  }

  /** Enqueues the job of a schedule now, paused or not. Its times stay as they are. */
  async trigger(key: ScheduleKey, idempotencyKey: string | null = null): Promise<JobId> {
    const schedule = this.get(key)
    if (schedule === null) throw unknownSchedule(key.id)
    const hasKey = idempotencyKey !== null
    const reply = await this.#loop.submit({
      ...firingRequest(schedule, hasKey ? { idempotency_key: idempotencyKey } : {}),
      txHash: hasKey ? null : this.#random(),
      before: hasKey ? 'unknown' : null,
      firing: { id: schedule.id, dueAt: null, at: null, nextAt: null },
    })
    return jobIdOf(reply as EnqueueReply)
  }

  #planOf(asked: ScheduleRequest): SchedulePlan {
    const { caller, id, cron, timezone = 'UTC', request, tier = 'FREE' } = asked
    const { overlap = 'allow', catchUp = 'last', isPaused = false } = asked
    if (typeof id !== 'string' || !SCHEDULE_ID.test(id)) {
      throw invalidParams('id', '1 to 64 of A–Z, a–z, 0–9, dot, dash and underscore')
    }
    if (typeof cron !== 'string') throw invalidParams('cron', 'five or six fields, as in 0 2 * * *')
    if (typeof timezone !== 'string') throw invalidParams('timezone', 'the name of a time zone')
    if (!OVERLAPS.includes(overlap)) throw invalidParams('overlap', `one of ${OVERLAPS.join(', ')}`)
    if (!CATCH_UPS.includes(catchUp)) {
      throw invalidParams('catch_up', `one of ${CATCH_UPS.join(', ')}`)
    }
    if (typeof isPaused !== 'boolean') throw invalidParams('paused', 'true or false')
    const text = this.#requestOf(request, caller)
    return { caller, id, cron, timezone, request: text, tier, overlap, catchUp, isPaused }
  }

  /** Checks the request as an enqueue of this moment would, so that a wrong one fails here and not at night. */
  #requestOf(request: Readonly<Record<string, unknown>>, caller: Caller): string {
    if (!isPlainObject(request)) throw invalidParams('request', 'an object')
    if (request['kind'] === 'registration') {
      throw invalidParams('kind', 'ai, quantum or task; a registration goes by its session')
    }
    const wrong = NOT_SCHEDULED.find((field) => request[field] !== undefined)
    if (wrong !== undefined) {
      throw invalidParams(wrong, 'to be left out: each job of a schedule has its own')
    }
    const { policy, nowMs } = this.#loop.state.market
    const context = { caller, chainId: policy.chain.id, enqueueHeight: 0n, nowMs, txHash: NO_KEY }
    acceptRequest(request, policy, context)
    const text = JSON.stringify(jsonOf(request as CborMap))
    const bytes = Buffer.byteLength(text)
    if (bytes <= REQUEST_BYTES_MAX) return text
    throw new FairleadError(
      'LimitExceeded',
      `request: ${bytes} bytes are over the cap of ${REQUEST_BYTES_MAX} for a schedule; keep the data elsewhere and name it in the payload`,
      { limit: 'schedule_request', max: REQUEST_BYTES_MAX, observed: bytes },
    )
  }
}

/** The request of one job of a schedule. */
export function firingRequest(
  { caller, tier, request }: Schedule,
  fields: Readonly<Record<string, unknown>>,
): Omit<EnqueueRequest, 'txHash' | 'before'> {
  const asked = { ...(JSON.parse(request) as object), ...fields }
  return { type: 'enqueue', request: asked, caller, tier, origin: null }
}

export function unknownSchedule(id: string): FairleadError {
  return new FairleadError('NotFound', `there is no schedule ${id}; see schedules.list`, { id })
}
