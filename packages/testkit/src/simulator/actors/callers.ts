import { type Caller, callerOf, type JobId, type KindName } from '@fairlead/core'
import type { Dice } from '../dice.ts'
import type { CallerPlan, Scenario } from '../world/scenario.ts'
import type { Desk, Order } from './desk.ts'
import type { SignupRequests } from './signup-requests.ts'

type OtherKind = Exclude<KindName, 'registration'>
const OTHER_KINDS: readonly OtherKind[] = ['ai', 'quantum', 'task']

/** How many orders are remembered, to be placed again. */
const ORDERS_KEPT = 200
const STORM = 70

/** Places orders: new ones, known ones again, the same key with another payload, and nonsense. */
export class Callers {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #scenario: Scenario
  readonly #signups: SignupRequests
  readonly #plans: readonly (CallerPlan & { readonly caller: Caller })[]
  #orders: Order[] = []
  #jobs: { readonly jobId: JobId; readonly caller: Caller }[] = []
  #keys = 0

  constructor(dice: Dice, desk: Desk, scenario: Scenario, signups: SignupRequests) {
    this.#signups = signups
    this.#dice = dice
    this.#desk = desk
    this.#scenario = scenario
    this.#plans = scenario.callers.map((plan) => ({ ...plan, caller: callerOf(plan.name) }))
  }

  /** One call; what it was, for the report. */
  act(liveJobs: number): string {
    const { cancelOneIn } = this.#scenario
    if (cancelOneIn > 0 && this.#dice.oneIn(cancelOneIn) && this.#jobs.length > 0)
      return this.#cancel()
    const { scheduleOneIn } = this.#scenario
    if (scheduleOneIn > 0 && this.#dice.oneIn(scheduleOneIn)) return this.#onSchedule()
    if (this.#dice.oneIn(80)) return this.#storm()
    if (liveJobs >= this.#scenario.liveMax) return this.#again('holds back, asks again')
    return this.#place(this.#order())
  }

  #order(): Order {
    const { repeatOneIn, oddOneIn } = this.#scenario
    const old = this.#orders.length > 0 ? this.#dice.pick(this.#orders) : null
    if (old !== null && repeatOneIn > 0 && this.#dice.oneIn(repeatOneIn)) {
      return this.#dice.oneIn(3) ? { ...old, ...this.#sound() } : old
    }
    const { caller, tier } = this.#dice.pick(this.#plans)
    const key = this.#dice.oneIn(4) ? null : `key-${this.#keys++}`
    const isOdd = oddOneIn > 0 && this.#dice.oneIn(oddOneIn)
    const asked = isOdd ? { request: this.#oddRequest() } : this.#sound()
    return { caller, tier, key, isOdd, ...asked }
  }

  /** Ends all schedules. */
  endSchedules(names: readonly string[]): void {
    for (const name of names) {
      const [caller, id] = name.split(' ') as [Caller, string]
      this.#desk.send(
        (engine) => engine.schedules.delete({ caller, id }),
        () => {},
      )
    }
  }

  /** Few ids, so that schedules are changed while they fire. Some are due more often than jobs can be done. */
  #onSchedule(): string {
    const dice = this.#dice
    const { caller, tier } = dice.pick(this.#plans)
    const id = dice.pick(['s1', 's2'])
    if (dice.oneIn(5)) {
      this.#desk.send(
        (engine) => engine.schedules.delete({ caller, id }),
        () => {},
      )
      return `deletes its schedule ${id}`
    }
    if (dice.oneIn(4)) {
      this.#desk.send(
        (engine) => engine.schedules.trigger({ caller, id }),
        () => {},
      )
      return `triggers its schedule ${id}`
    }
    const plan = {
      caller,
      id,
      tier,
      cron: `*/${dice.pick([2, 5, 7, 30])} * * * * *`,
      request: this.#request(dice.weighted({ ai: 1, quantum: 1, task: 1 })),
      overlap: dice.pick(['allow', 'skip'] as const),
      catchUp: dice.pick(['none', 'last', 'all'] as const),
      isPaused: dice.oneIn(6),
    }
    this.#desk.send(
      (engine) => engine.schedules.put(plan),
      () => {},
    )
    return `puts its schedule ${id} ${plan.cron} ${plan.catchUp}`
  }

  /** So many at once that they do not wait for the batch before them. */
  #storm(): string {
    const keyed = this.#orders.filter(({ key }) => key !== null)
    if (keyed.length === 0) return 'has nothing to ask'
    for (let i = 0; i < STORM; i++) this.#place(this.#dice.pick(keyed))
    return `asks for ${STORM} known jobs at once`
  }

  #again(what: string): string {
    const keyed = this.#orders.filter(({ key }) => key !== null)
    return keyed.length === 0 ? what : `${what}: ${this.#place(this.#dice.pick(keyed))}`
  }

  #place(order: Order): string {
    if (order.key !== null && !order.isOdd) {
      this.#orders.push(order)
      if (this.#orders.length > ORDERS_KEPT) this.#orders = this.#orders.slice(ORDERS_KEPT / 2)
    }
    this.#desk.enqueue(order, (answer, jobId) => {
      if (answer === 'ok' && jobId !== null) this.#jobs.push({ jobId, caller: order.caller })
      if (this.#jobs.length > ORDERS_KEPT) this.#jobs = this.#jobs.slice(ORDERS_KEPT / 2)
    })
    return `enqueue ${String(order.request['kind'])} ${order.key ?? 'without a key'}`
  }

  #cancel(): string {
    const { jobId: known, caller } = this.#dice.pick(this.#jobs)
    const jobId = this.#dice.oneIn(10) ? madeUpId<JobId>(this.#dice) : known
    const by = this.#dice.oneIn(4) ? this.#dice.pick(this.#plans).caller : caller
    this.#desk.cancel(jobId, by, () => {})
    return `cancel ${jobId} by ${by.slice(0, 8)}`
  }

  /** A request that is to be accepted, or one for a place that is to be had only at the right time. */
  #sound(): Pick<Order, 'request' | 'isOperator'> {
    const kind = this.#dice.weighted(this.#scenario.kinds)
    return kind === 'registration' ? this.#signups.next() : { request: this.#request(kind) }
  }

  #request(kind: OtherKind): Readonly<Record<string, unknown>> {
    const dice = this.#dice
    const { isUniform } = this.#scenario
    const fee = dice.oneIn(3) ? 0 : dice.below(4) * 500_000 + (isUniform ? dice.below(1_000) : 0)
    if (isUniform) {
      const rank = this.#scenario.options === 'priority' ? this.#options() : {}
      return { kind, payload: this.#payload(kind), max_fee_u64: fee, ...rank }
    }
    return {
      kind,
      payload: this.#payload(kind),
      max_fee_u64: fee,
      ...(dice.oneIn(6) ? { regions: dice.pick([['eu'], ['us'], ['eu', 'us']]) } : {}),
      ...(dice.oneIn(8) ? { ttl_abs_secs: dice.between(1, 20) } : {}),
      ...(dice.oneIn(6) ? this.#needs(kind) : {}),
      ...this.#options(),
      ...this.#dedupeKey(),
    }
  }

  /** Few keys, so that many jobs are wanted that are there already. */
  #dedupeKey(): Readonly<Record<string, unknown>> {
    const { dedupeOneIn } = this.#scenario
    if (dedupeOneIn === 0 || !this.#dice.oneIn(dedupeOneIn)) return {}
    return { dedupe_key: this.#dice.pick(['d1', 'd2', 'd3']) }
  }

  /** Every third job has some. Jobs that it names may be another's, or gone. */
  #options(): Readonly<Record<string, unknown>> {
    const dice = this.#dice
    const { options } = this.#scenario
    if (options === 'none' || !dice.oneIn(3)) return {}
    if (options === 'priority') return { priority: dice.pick([-100, -1, 1, 100]) }
    const known = this.#jobs.slice(-6).map(({ jobId }) => jobId)
    const depends_on = known.length === 0 ? [madeUpId<JobId>(dice)] : [dice.pick(known)]
    if (dice.oneIn(3))
      depends_on.push(dice.oneIn(4) ? madeUpId<JobId>(dice) : dice.pick(depends_on))
    return dice.pick<Readonly<Record<string, unknown>>>([
      { delay_ms: dice.pick([1, 300, 2_000, 9_000]) },
      { depends_on },
      { depends_on, on_dependency: 'run' },
      { timeout_ms: dice.pick([1_000, 1_500, 2_000, 4_000]) },
      { attempts: dice.between(1, 5), tags: ['a', 'b'] },
      {
        backoff: {
          base_ms: dice.pick([0, 50, 700]),
          factor_permille: dice.pick([1_000, 2_500]),
          cap_ms: dice.pick([0, 1_200, 5_000]),
          jitter_permille: dice.pick([0, 100, 1_000]),
        },
      },
      { delay_ms: 700, depends_on, timeout_ms: 1_500 },
    ])
  }

  /** Needs beside kind and model, which some jobs have. */
  #needs(kind: OtherKind): Readonly<Record<string, unknown>> {
    const dice = this.#dice
    if (kind === 'ai')
      return { precision: dice.pick<unknown>(['fp16', ['fp32', 'fp16'], ['int8']]) }
    if (kind !== 'quantum') return {}
    return {
      width_hint: dice.pick([0, 4, 20]),
      ...(dice.oneIn(2) ? { gates: dice.pick([['cx'], ['cx', 'rz'], ['h']]) } : {}),
    }
  }

  #payload(kind: OtherKind): Readonly<Record<string, unknown>> {
    const dice = this.#dice
    const { isUniform, withBound } = this.#scenario
    if (kind === 'ai') {
      const tokens = isUniform && !withBound ? 500 : dice.between(1, 2_000)
      const model = isUniform ? 'm1' : dice.pick(['m1', 'm1', 'm2', 'm3'])
      return { model, prompt: `0x${'ab'.repeat(dice.below(4))}`, max_tokens: tokens }
    }
    if (kind === 'quantum') {
      return {
        circuit: '0x0102',
        shots: dice.pick([100, 1_000, 20_000]),
        depth_hint: dice.pick([0, 1, 8, 40]),
      }
    }
    return { name: dice.pick(this.#scenario.tasks), args: { n: dice.below(9) } }
  }

  #oddRequest(): Readonly<Record<string, unknown>> {
    const sound = this.#request(this.#dice.pick(OTHER_KINDS))
    return this.#dice.pick<Readonly<Record<string, unknown>>>([
      { ...sound, kind: 'mining' },
      { ...sound, kind: 'registration' },
      { ...sound, tier: 'PREMIUM' },
      { ...sound, payload: {} },
      { ...sound, payload: { model: 'm1', prompt: '0x', max_tokens: 0 }, kind: 'ai' },
      { ...sound, payload: { model: 'm1', prompt: '0x', max_tokens: 2_000_000 }, kind: 'ai' },
      { ...sound, max_fee_u64: -1 },
      { ...sound, regions: [] },
      { ...sound, ttl_abs_secs: 0 },
      { ...sound, precision: [] },
      { ...sound, kind: 'task', payload: { name: 'resize', args: {} }, width_hint: 4 },
      { kind: 'task', payload: { name: '', args: {} } },
    ])
  }
}

export function madeUpId<Id extends string>(dice: Dice): Id {
  return `0x${Buffer.from(dice.bytes(32)).toString('hex')}` as Id
}
