import { FairleadError } from '@fairlead/core'
import type { Explanation } from '@fairlead/engine'
import type { Worker } from './actors/worker.ts'
import type { Dice } from './dice.ts'
import { hasEndedStatus } from './ledger/own-rules.ts'
import type { Actor, ClockMove } from './scenario.ts'
import { broken } from './violation.ts'
import type { World } from './world.ts'

const DAY_MS = 86_400_000
/** A store further in the future than 60 s is not opened; an engine that runs does not mind. */
const BACK_MAX_MS = 90_000

/** One step: one act of one actor, one move of the clock, or one fault. Gives a line for the report. */
export async function takeStep(world: World): Promise<string> {
  const { dice, scenario } = world
  const actor = dice.weighted(scenario.actors)
  const text = await ACTS[actor](world)
  // Some steps share a turn of the engine with the next.
  if (dice.oneIn(2)) await world.settle()
  return `${actor} ${text}`
}

const ACTS: Readonly<Record<Actor, (world: World) => string | Promise<string>>> = {
  caller: (world) => world.callers.act(world.ledger.book.alive.size),
  worker: (world) => someWorker(world).act(),
  operator: operate,
  clock: (world) => MOVES[world.dice.weighted(world.scenario.clock)](world),
  store: releaseCommit,
  restart,
  reader: readSomething,
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
  if (!world.isAtRest || world.ledger.overdue(world.clock.now()) !== null) return 'waits'
  const text = world.operator.act('policy')
  await world.settle()
  world.forgetWaits()
  return text
}

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
    const sort = world.dice.pick(['leases', 'leases', 'jobs', 'windows', 'sessions'] as const)
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

function releaseCommit(world: World): string {
  const { store } = world.session
  if (!store.isBusy) return 'is well'
  world.disturb()
  if (world.dice.oneIn(2) && store.releaseRead()) return 'ends a late look-up'
  const fate = world.faults.end()
  store.release(fate)
  return `ends a late commit: ${fate}`
}

/** Closed or killed, also while a commit hangs; then some time, at worst a clock that went back. */
async function restart(world: World): Promise<string> {
  const { dice } = world
  const isKill = !dice.oneIn(3)
  if (isKill) world.session.kill(dice.below(3))
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
  let isClosed = false
  const { store } = world.session
  const closed = world.session.close().then(() => {
    isClosed = true
  })
  while (!isClosed) {
    store.releaseRead()
    store.release(world.faults.end())
    await world.settle()
  }
  await closed
  if (world.desk.open > 0)
    broken('answer', `${world.desk.open} calls were not answered before the close`)
}

/** Reads answer at any time, and with what is stored. */
async function readSomething(world: World): Promise<string> {
  const { engine } = world.session
  const ids = world.desk.receipts()
  if (ids.length === 0) return 'has nothing to read'
  const id = world.dice.pick(ids)
  // A batch may reach the disk while a read is under way: it sees the one or the other.
  const stored = () => world.disk.jobs.get(id)?.status
  const before = stored()
  const read = await orNull(engine.getJob(id))
  if (read?.status !== before && read?.status !== stored()) {
    broken('answer', `job ${id} reads as ${read?.status}, stored is ${stored()}`)
  }
  const had = world.disk.results.has(id)
  const result = await orNull(engine.getResult(id))
  if ((result !== null) !== had && (result !== null) !== world.disk.results.has(id)) {
    broken('answer', `job ${id} has another result than is stored`)
  }
  const row = world.disk.jobs.get(id)
  if (row === undefined) return `reads ${id}, which is deleted`
  const told = (await engine.timeline(id)).at(-1)
  if (hasEndedStatus(row.status) && told?.at !== row.endedAt) {
    broken('answer', `the timeline of ${id} has no end`)
  }
  // May wait for what is being written.
  world.desk.send(
    (asked) => asked.explain(id).then((explanation) => checkRefusals(world, explanation)),
    () => {},
  )
  return `reads ${id}`
}

/** With health off nothing that failed before is a reason to wait (HEALTH-7). */
function checkRefusals({ ledger, session }: World, explanation: Explanation): void {
  const { health, liveness } = ledger.book.policy.registry
  // An explanation is made in memory, where a policy counts before it is stored.
  const isOn = health === 'on' || session.engine.view.policy.registry.health === 'on'
  if (isOn || !('providers' in explanation)) return
  for (const { id, refusal } of explanation.providers) {
    const isStale = refusal === 'heartbeat_stale' && liveness === 'worker'
    if (!isStale && !HEALTH_REFUSALS.has(refusal ?? '')) continue
    broken('fails-alone', `${id} refuses ${explanation.job.id} with ${refusal}, and has no health`)
  }
}

const HEALTH_REFUSALS: ReadonlySet<string> = new Set([
  'unhealthy',
  'cooling_down',
  'class_cooling_down',
])

async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return null
    throw error
  }
}
