import { expect, it } from 'vitest'
import { isSound, runCrashes } from './crash-run.mjs'

const KILLS = process.env['LONG_TESTS'] ? 20 : 4

// `npm run crash -- --kills 50` does the same for longer.
it(`WORKER-7, LOOP-1, RECOVER-1: killed ${KILLS} times under load it loses nothing, repeats nothing and goes on by itself`, async () => {
  const report = await runCrashes({ kills: KILLS, seed: Date.now() % 1_000_000 })
  console.log(JSON.stringify(report))
  expect(report).toMatchObject({
    jobs_lost: 0,
    completions_undone: 0,
    duplicates: 0,
    jobs_left: 0,
    audit_broken_at: null,
    drained: true,
  })
  expect(isSound(report)).toBe(true)
  // Without work in the hands of those that were killed it would prove little.
  expect(report.answered.completions).toBeGreaterThan(KILLS)
  expect(report.given_back).toBeGreaterThan(0)
  // And without batches that only the log had.
  expect(report.replayed).toBeGreaterThan(KILLS)
}, 180_000)
