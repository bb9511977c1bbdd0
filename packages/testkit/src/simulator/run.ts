import { stateHash } from '../state-hash.ts'
import type { JobEntry } from './ledger/book.ts'
import { broken, type InvariantName, Violation } from './violation.ts'
import { disarmDefect } from './world/defects.ts'
import { weighRows } from './world/row-weight.ts'
import type { Scenario } from './world/scenario.ts'
import { SCENARIOS } from './world/scenarios.ts'
import { takeStep } from './world/steps.ts'
import { World } from './world/world.ts'

/** Steps of one run: long enough for jobs to be deleted, short enough to be read. */
export const RUN_STEPS = 2_000
const LINES_KEPT = 20
const STACK_KEPT = 2
/** Rounds of honest work until all is done; each lets some seconds pass. */
const DRAIN_MAX = 100
const WAIT_MAX_MS = 10_000
/** An engine tries again within this time. */
const WAKE_MS = 1_000
/** Where there are tasks of this name, bad ones stay bad to the end: the others have to come through beside them. */
const ALWAYS_FAILS = 'boom'

export interface Failure {
  readonly seed: number
  readonly scenario: string
  readonly step: number
  /** How long the run was to be. */
  readonly runSteps: number
  readonly invariant: InvariantName
  readonly message: string
  /** What was done last, the oldest first. */
  readonly lines: readonly string[]
}

/** What a run came to; its numbers show that something happened at all. */
export interface Run {
  readonly steps: number
  readonly failure: Failure | null
  /** Of all that is stored in the end. */
  readonly hash: string
  readonly counts: Readonly<Record<string, number>>
}

/** The scenario of a seed, unless one is named. */
export function scenarioOf(seed: number, name?: string): Scenario {
  const found =
    name === undefined ? SCENARIOS[seed % SCENARIOS.length] : SCENARIOS.find((s) => s.name === name)
  if (found === undefined)
    throw new Error(
      `there is no scenario ${name}; there are ${SCENARIOS.map((s) => s.name).join(', ')}`,
    )
  return found
}

/** Runs one world from its seed. The same seed and scenario give the same run, step by step. */
export async function runSeed(options: {
  readonly seed: number
  readonly scenario?: string
  readonly steps?: number
  /** Asked after each step; false ends the run there. */
  readonly onStep?: (step: number) => boolean
  readonly wantsHash?: boolean
}): Promise<Run> {
  const { seed, steps: stepsMax = RUN_STEPS, onStep } = options
  const scenario = scenarioOf(seed, options.scenario)
  const world = new World(scenario, seed)
  const lines: string[] = []
  let step = 0
  // Refusals are daily bread here, and the stack of each costs more than the call that it refuses.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = STACK_KEPT
  try {
    await world.start()
    for (; step < stepsMax; step++) {
      const text = await takeStep(world)
      lines.push(`${step} @${world.clock.now() % 10_000_000} ${text}`)
      if (lines.length > LINES_KEPT) lines.shift()
      world.check()
      if (onStep?.(step) === false) break
    }
    if (step === stepsMax) await drain(world)
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    const { invariant, message } = error
    const failure: Failure = {
      seed,
      scenario: scenario.name,
      step,
      runSteps: stepsMax,
      invariant,
      message,
      lines,
    }
    return { steps: step, failure, hash: '', counts: {} }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    // Other engines of this process are as they are.
    weighRows(1)
    disarmDefect()
  }
  return {
    steps: step,
    failure: null,
    hash: options.wantsHash === true ? await stateHash(world.session.store) : '',
    counts: countsOf(world),
  }
}

/** Everything goes well from now on: so every accepted job must come to its end. */
async function drain(world: World): Promise<void> {
  await world.faults.pause(async () => {
    await world.settle()
    const { store } = world.session
    while (store.isBusy) {
      store.reads.release()
      store.log.release('ok')
      store.tables.release('ok')
      await world.settle()
    }
    // What was refused is given again after a moment.
    await world.walk(WAKE_MS)
    const isSpared = !world.scenario.tasks.includes(ALWAYS_FAILS)
    for (const worker of world.workers) worker.becomeHonest(isSpared)
    world.sites.isCalm = true
    for (let i = 0; world.ledger.book.alive.size > 0; i++) {
      if (i === DRAIN_MAX) {
        const [{ facts, status, notBefore, lease }] = [...world.ledger.book.alive] as [JobEntry]
        const which = `${facts.kind} ${facts.model ?? ''} ${facts.id}, ${status} until ${notBefore}, with ${lease?.workerId ?? 'no worker'}`
        broken('unfinished', `${world.ledger.book.alive.size} jobs never end, such as ${which}`)
      }
      world.operator.revive()
      if (world.scenario.proofs !== 'none') world.operator.endow()
      world.operator.resumeAll()
      world.callers.endSchedules(world.ledger.book.schedules.names())
      world.operator.giveUp()
      for (const worker of world.workers) worker.beat()
      // An ack, a completion, and the same for what comes after them.
      for (let turn = 0; turn < 4; turn++) {
        await world.settle()
        for (const worker of world.workers) worker.workOff()
        if (world.scenario.proofs !== 'none') world.prover.proveAll()
        world.chain?.advance()
      }
      await world.walk(world.dice.between(500, 4_000))
      await skipWait(world)
      world.check()
    }
    // Time that has just moved may have led to calls.
    await world.settle()
    const run = world.ledger.book.bulk.unfinished()
    if (run !== null) broken('bulk', `the run ${run} never ends`)
    if (world.desk.open > 0) broken('answer', `${world.desk.open} calls were never answered`)
    world.ledger.compareAll()
    world.ledger.checkChain()
    await world.compareStores()
  })
  world.check()
}

/** Where all that is left waits for a long time, for a backoff or a cooldown, nobody waits with it. */
async function skipWait(world: World): Promise<void> {
  const { ledger } = world
  const now = world.clock.now()
  if (ledger.book.live.size > 0 || ledger.stranded(now) !== null) return
  const next = Math.min(...[...ledger.waitTimes()].filter((at) => at > now))
  if (next === Number.POSITIVE_INFINITY || next < now + WAIT_MAX_MS) return
  await world.jump(next - now)
  await world.settle()
}

function countsOf({ ledger, disk, tally }: World): Record<string, number> {
  const counts: Record<string, number> = {
    accepted: ledger.book.accepted,
    rounds: ledger.book.rounds,
    entries: disk.journal.length,
    ...tally,
  }
  for (const { action, details } of disk.journal) {
    const { reason } = details as { readonly reason?: string }
    const name = reason === undefined ? action : `${action}.${reason}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
