import { expect, it } from 'vitest'
import { isSound } from '../../engine/test/crash-run.mjs'
import { runWireCrashes } from './wire-crash-run.mjs'

const KILLS = process.env['LONG_TESTS'] ? 8 : 2

// `npm run crash -- --wire --kills 50` does the same for longer.
it(`WORKER-7: a server killed ${KILLS} times under load loses nothing and repeats nothing, and its remote workers go on`, async () => {
  const report = await runWireCrashes({ kills: KILLS, seed: Date.now() % 1_000_000 })
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
  expect(report.answered.completions).toBeGreaterThan(KILLS)
  // Leases that outlived their connection: without any it would prove little.
  expect(report.resumed).toBeGreaterThan(0)
}, 180_000)
