import type { Worker } from '../actors/worker.ts'
import type { Dice } from '../dice.ts'
import { broken } from '../violation.ts'
import type { Actor, ClockMove } from './scenario.ts'
import type { World } from './world.ts'

const DAY_MS = 86_400_000
/** A store further in the future than 60 s is not opened; an engine that runs does not mind. */
const BACK_MAX_MS = 90_000

/** One step: one act of one actor, one move of the clock, or one fault. Gives a line for the report. */
export async function takeStep(world: World): Promise<string> {
  const { dice, scenario } = world
  const { defect } = scenario.faults
  if (defect > 0 && dice.oneIn(defect) && world.isAtRest) world.armDefect()
  const actor = dice.weighted(scenario.actors)
  const text = await ACTS[actor](world)
  // Some steps share a turn of the engine with the next.
  if (dice.oneIn(2)) await world.settle()
  return `${actor} ${text}${await reopen(world)}`
}

/** A process that was killed in the middle of something is followed by the next. */
async function reopen(world: World): Promise<string> {
  if (!world.session.isOver) return ''
  const away = timeAway(world.dice)
  await world.jump(away)
  await world.open()
  return `; the engine is killed, the next opens ${away} ms later`
}

const ACTS: Readonly<Record<Actor, (world: World) => string | Promise<string>>> = {
  caller: (world) => world.callers.act(world.ledger.book.alive.size),
  worker: (world) => someWorker(world).act(),
  operator: operate,
  clock: (world) => MOVES[world.dice.weighted(world.scenario.clock)](world),
  store: releaseCall,
  restart,
  reader: readSomething,
  prover: ({ prover }) => prover.act(),
  chain: ({ chain }) => chain?.act() ?? 'is none',
}

/** Whoever has work is asked more often. */
function someWorker({ dice, workers }: World): Worker {
  const busy = workers.filter(({ isBusy }) => isBusy)
  return dice.pick(busy.length === 0 || dice.oneIn(3) ? workers : busy)
}

/** A change of policy has a turn of its own, at a time when nothing is due: so it is known what it reached. */
async function operate(world: World): Promise<string> {
  const act = world.operator.choose()
  if (act !== 'policy') return world.operator.act(act)
  await world.settle()
  // It needs facts of the tables, and everybody would wait with it.
  const isBehind = world.session.store.isBehind
  if (!world.isAtRest || isBehind || world.ledger.overdue(world.clock.now()) !== null)
    return 'waits'
  const text = world.operator.act('policy')
  await world.settle()
  world.forgetWaits()
  return text
}

const OTHERS = ['leases', 'leases', 'jobs', 'windows', 'sessions', 'schedules'] as const
const FUND_OTHERS = ['leases', 'leases', 'jobs', 'proofs', 'proofs'] as const

const MOVES: Readonly<Record<ClockMove, (world: World) => string | Promise<string>>> = {
  tick: async (world) => {
    const ms = world.dice.between(1, 40)
    await world.walk(ms)
    return `ticks ${ms} ms`
  },
  walk: async (world) => {
    const ms = world.dice.between(1, 900)
    await world.walk(ms)
    return `walks ${ms} ms`
  },
  // To the very moment of a deadline, or one beside it; often without anybody noticing yet.
  edge: async (world) => {
    const now = world.clock.now()
    const others = world.ledger.book.fund === null ? OTHERS : FUND_OTHERS
    const sort = world.dice.pick(others)
    const reachMs = sort === 'sessions' ? 2_000 : 8_000
    const ahead = [...world.ledger.dueTimes(sort)].filter((at) => at > now && at < now + reachMs)
    if (ahead.length === 0) return MOVES.tick(world)
    const to = Math.max(now, world.dice.pick(ahead) + world.dice.between(-1, 1))
    if (world.dice.oneIn(2)) await world.walk(to - now)
    else await world.jump(to - now)
    return `moves ${to - now} ms to an edge`
  },
  // As if the process had been suspended: all that fell due is noticed at once.
  leap: async (world) => {
    const ms = world.dice.oneIn(60) ? world.dice.below(DAY_MS) : world.dice.below(6_000)
    await world.jump(ms)
    return `leaps ${ms} ms`
  },
  back: async (world) => {
    const now = world.clock.now()
    const ms = Math.max(
      0,
      Math.min(world.dice.between(1, 1_000), now - (world.ledger.beat - BACK_MAX_MS)),
    )
    await world.jump(-ms)
    world.forgetWaits()
    return `goes back ${ms} ms`
  },
}

function releaseCall(world: World): string {
  const { log, tables, reads, isBusy } = world.session.store
  if (!isBusy) return 'is well'
  world.disturb()
  const turn = world.dice.below(3)
  if (turn === 0 && reads.release()) return 'ends a late look-up'
  const applied = turn === 1 && tables.isBusy ? world.faults.endApply() : null
  if (applied !== null) {
    tables.release(applied)
    return `ends a late call of the tables: ${applied}`
  }
  const fate = world.faults.end()
  return log.release(fate) ? `ends a late append: ${fate}` : 'lets others wait'
}

/** Closed or killed, also while a call hangs; then some time, at worst a clock that went back. */
async function restart(world: World): Promise<string> {
  const { dice } = world
  const isKill = !dice.oneIn(3)
  if (isKill) world.kill()
  else await closeWell(world)
  const away = timeAway(dice)
  const back = dice.oneIn(12) ? dice.between(1, 90_000) : 0
  await world.jump(away - back)
  await world.open()
  return `${isKill ? 'kills' : 'closes'} the engine, opens the next ${away - back} ms later`
}

/** Mostly none at all: then nothing may show that the engine was ever gone. */
function timeAway(dice: Dice): number {
  if (!dice.oneIn(3)) return 0
  return dice.oneIn(40) ? dice.between(1, DAY_MS) : dice.between(1, 2_000)
}

async function closeWell(world: World): Promise<void> {
  const { session } = world
  const { log, tables, reads } = session.store
  const faultsBefore = session.store.faults
  const wasTroubled = session.store.isTroubled
  void session.close()
  while (!session.isOver) {
    reads.release()
    log.release(world.faults.end())
    const applied = world.faults.endApply()
    if (applied !== null) tables.release(applied)
    await world.settle()
    // Tables that take nothing for long are waited for.
    if (tables.isBusy) await world.walk(world.dice.between(1, 4_000))
  }
  // It may have been killed as well.
  if (!session.isClosed) return
  if (world.desk.open > 0)
    broken('answer', `${world.desk.open} calls were not answered before the close`)
  if (!wasTroubled && session.store.faults === faultsBefore) world.checkSynced()
}

/** Reads are asked at any time. */
async function readSomething(world: World): Promise<string> {
  // What the engine was told has to have reached those who asked.
  await world.hop()
  return world.reader.read(world.session.store.log.confirmed)
}
