import { FairleadError, type WriteBatch } from '@fairlead/core'
import { EngineState, type Outcome } from '@fairlead/engine'
import { type Applied, untapped } from './command-tap.ts'
import { firstDifference } from './first-difference.ts'
import { readPolicy } from './read-policy.ts'
import { type SimDisk, shareKey } from './sim-disk.ts'
import type { Commit } from './sim-store.ts'
import { broken } from './violation.ts'

/**
 * A second state that gets the same commands at the same times and must come to the same rows, batch by
 * batch (ENGINE-1). It is not restarted when the engine is: only if time has passed meanwhile, which
 * moves deadlines, does it begin anew from what is stored (ENGINE-4).
 */
export class Shadow {
  #state: EngineState | null = null
  /** Taken and not settled yet, the oldest first. */
  #outcomes: Outcome[] = []
  /** It knows of a downtime that is not stored yet. */
  #isAhead = false

  /** The engine has loaded what is on the disk. */
  loaded(disk: SimDisk, wallMs: number): void {
    const isLater = wallMs > Number(disk.meta.get('beat'))
    if (this.#state === null || isLater || this.#isAhead) {
      this.#state = stateOf(disk, wallMs)
      this.#outcomes = []
      this.#isAhead = isLater
      return
    }
    for (const outcome of this.#outcomes) untapped.settle(this.#state, outcome)
    this.#outcomes = []
    untapped.forgetStoredKeys(this.#state)
  }

  /** A batch is about to reach the disk: the same commands must give the same batch. */
  written({ batch, commands }: Commit, disk: SimDisk): void {
    this.#isAhead = false
    if (commands === null || this.#state === null) return
    for (const applied of commands) this.#do(this.#state, applied)
    const again = this.#outcomes.at(-1)?.batch
    if (again === undefined || firstDifference(batch, again) === null) return
    // A state that was loaded anew may write again what is stored already: that is no change.
    const difference = firstDifference(changesOf(batch, disk), changesOf(again, disk))
    if (difference !== null) broken('replay', `replayed, the batch differs at ${difference}`)
  }

  #do(state: EngineState, applied: Applied): void {
    if (applied === 'prune') untapped.prune(state)
    else if (applied === 'takeOutcome') this.#outcomes.push(untapped.takeOutcome(state))
    else if (applied === 'forgetStoredKeys') untapped.forgetStoredKeys(state)
    else if (applied === 'settle') {
      const outcome = this.#outcomes.shift()
      if (outcome !== undefined) untapped.settle(state, outcome)
    } else apply(state, applied)
  }
}

function apply(state: EngineState, { command, at }: Exclude<Applied, string>): void {
  try {
    untapped.apply(state, command, at)
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return
    throw error
  }
}

/** A batch without the rows that are stored like this already. */
function changesOf(batch: WriteBatch, disk: SimDisk): unknown {
  const isNew = <Row extends object>(stored: object | undefined, row: Row): boolean =>
    stored === undefined || firstDifference({ ...stored, ...row }, stored) !== null
  const finishOf = (row: WriteBatch['shares'][number]) =>
    disk.shares.get(shareKey(row))?.finish ?? null
  return {
    ...batch,
    jobs: batch.jobs.filter((row) => isNew(disk.jobs.get(row.id), row)),
    leases: batch.leases.filter((row) => isNew(disk.leases.get(row.id), row)),
    providers: batch.providers.filter((row) => isNew(disk.providers.get(row.id), row)),
    shares: batch.shares
      .filter((row) => row.finish !== finishOf(row))
      .sort((a, b) => (shareKey(a) < shareKey(b) ? -1 : 1)),
  }
}

/** As it is before the first command: the engine's own first step is to move the time on to now. */
function stateOf(disk: SimDisk, wallMs: number): EngineState {
  const { meta } = disk
  const policy = readPolicy(meta)
  const beat = Number(meta.get('beat'))
  const nowMs = Math.max(wallMs, beat)
  const seed = meta.get('installation_seed') as string
  const state = new EngineState({
    snapshot: disk.snapshot(),
    policy,
    nowMs: beat,
    gapMs: nowMs - beat,
    installationSeed: Buffer.from(seed.slice(2), 'hex'),
  })
  const window = policy.queue.quotas.requesterWindow
  if (window !== null) {
    state.market.windows.restore(disk.assignmentsSince(nowMs - 1_000 * window.secs), policy)
  }
  return state
}
