// `npm run crash -- --kills 50 [--seed n] [--json]`: kills a process with an engine and workers under load
// that many times, and says what became of the jobs.
import { parseArgs } from 'node:util'
import { isSound, runCrashes } from '../packages/engine/test/crash-run.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
  },
})
const [kills, seed] = [Number(values.kills), Number(values.seed)]
if (!Number.isSafeInteger(kills) || kills < 1 || !Number.isSafeInteger(seed) || seed < 0) {
  console.error('crash: --kills takes a whole number from 1, --seed one from 0')
  process.exit(2)
}

const report = await runCrashes({
  kills,
  seed,
  onKill: ({ kill, life_ms, recovery_ms, jobs, completed }) => {
    const lived = `lived ${life_ms} ms, first answer after ${recovery_ms} ms`
    console.error(`kill ${kill}/${kills}: ${lived}, jobs ${jobs}, completed ${completed}`)
  },
})
if (values.json) console.log(JSON.stringify(report, null, 2))
else {
  const { recovery_ms, answered, ...figures } = report
  const rows = { ...figures, ...answered, recovery_ms: recovery_ms.worst }
  for (const [name, value] of Object.entries(rows)) console.log(`${name.padEnd(20)}${value}`)
  console.log(isSound(report) ? 'nothing was lost' : `FAILED; again with --seed ${seed}`)
}
process.exitCode = isSound(report) ? 0 : 1
