import { type JobId, type Seed, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import type { Job } from '../src/index.ts'
import { CuttableSource, Rig } from './rig.ts'

const JOBS = 40
const CONCURRENCY = 3

/** Two workers, a store that fails and lines that are cut, by the dice of a seed. */
async function play(seed: number): Promise<{
  readonly rig: Rig
  readonly jobs: readonly JobId[]
  readonly atOnce: number
}> {
  const dice = new SeededDice(taggedHashHex('fairlead|rough-times', seed) as Seed)
  const rig = await Rig.open({ queue: { retries: { base_backoff_task_secs: 1 } } })
  let [running, atOnce] = [0, 0]
  const handler = async ({ signal }: Job): Promise<Uint8Array> => {
    running++
    atOnce = Math.max(atOnce, running)
    await rig.sleep(dice.draw(4_000), signal)
    running--
    if (dice.draw(20) === 0) throw new Error('not my day')
    return Uint8Array.of(dice.draw(256))
  }
  const sources = [1, 2].map(() => new CuttableSource(rig.engine.leaseSource()))
  for (const [n, source] of sources.entries()) {
    await rig.worker(handler, { source, concurrency: CONCURRENCY, workerId: `w-${n}` })
  }

  rig.store.fate = () => (['fails', 'answer lost'] as const)[dice.draw(20)] ?? 'ok'
  const jobs: JobId[] = []
  while (jobs.length < JOBS) {
    await rig.enqueue().then(
      (jobId) => jobs.push(jobId),
      () => undefined,
    )
    await rig.clock.advance(dice.draw(1_000))
    const source = sources[dice.draw(8)]
    if (source === undefined) continue
    source.down = dice.draw(3) > 0
    await source.cut()
    await rig.clock.advance(dice.draw(20_000))
    source.down = false
  }
  rig.store.fate = () => 'ok'
  await rig.clock.advance(300_000)
  return { rig, jobs, atOnce }
}

it.each(Array.from({ length: 12 }, (_, n) => n))(
  'WORKER-8: in rough times every job is done once, and never more at once than there is room for (seed %i)',
  async (seed) => {
    const { rig, jobs, atOnce } = await play(seed)
    const done = (await rig.engine.listJobs({ limit: 1_000 })).jobs
    expect(new Set(done.map(({ status }) => status))).toEqual(new Set(['COMPLETED']))
    // An enqueue whose answer was lost left a job too.
    expect(done.length).toBeGreaterThanOrEqual(jobs.length)
    for (const { id } of done) {
      const ends = (await rig.story(id)).filter((line) => line === 'jobCompleted')
      expect(ends, id).toHaveLength(1)
    }
    expect(atOnce).toBeLessThanOrEqual(2 * CONCURRENCY)
    const codes = new Set(rig.errors.map((error) => (error as { code?: string }).code))
    expect([...codes].filter((code) => code !== undefined)).toEqual(['StoreUnavailable'])
  },
)
