// `npm run crash -- --kills 50 [--wire] [--seed n] [--json]`: kills a process under load that many times,
// and says what became of the jobs.
import { parseArgs } from 'node:util'
import { isSound, runCrashes } from '../packages/engine/test/crash-run.mjs'
import { runWireCrashes } from '../packages/fairlead/test/wire-crash-run.mjs'

const HELP = `Kills a process with an engine and workers under load, again and again, and says what became of the jobs.

  npm run crash -- [--wire] [--kills N] [--seed N] [--json]

  --wire      kill a server, whose workers and requesters live on in other processes
  --kills N   how often (default: 50)
  --seed N    when, in life and load (default: a new one each time)
  --json      the result as one JSON object
  --help      this text

Exits with 0 if nothing was lost, 1 if something was, and 2 if the command is wrong.`

const { kills, seed, json, wire } = readArguments()

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        kills: { type: 'string', default: '50' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        json: { type: 'boolean', default: false },
        wire: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      console.log(HELP)
      process.exit(0)
    }
    const numbers = { kills: Number(values.kills), seed: Number(values.seed) }
    const isRight = Number.isSafeInteger(numbers.kills) && Number.isSafeInteger(numbers.seed)
    if (!isRight || numbers.kills < 1 || numbers.seed < 0) {
      throw new Error('--kills takes a whole number from 1, --seed one from 0')
    }
    return { ...numbers, json: values.json, wire: values.wire }
  } catch (error) {
    console.error(`crash: ${error.message}\nSee npm run crash -- --help`)
    process.exit(2)
  }
}

const report = await (wire ? runWireCrashes : runCrashes)({
  kills,
  seed,
  onKill: ({ kill, life_ms, recovery_ms, jobs, completed }) => {
    const lived = `lived ${life_ms} ms, first answer after ${recovery_ms} ms`
    console.error(`kill ${kill}/${kills}: ${lived}, jobs ${jobs}, completed ${completed}`)
  },
})
if (json) console.log(JSON.stringify(report, null, 2))
else {
  const { recovery_ms, answered, ...figures } = report
  const rows = { ...figures, ...answered, recovery_ms: recovery_ms.worst }
  for (const [name, value] of Object.entries(rows)) console.log(`${name.padEnd(20)}${value}`)
  console.log(
    isSound(report)
      ? 'nothing was lost'
      : `FAILED; again with --seed ${seed}${wire ? ' --wire' : ''}`,
  )
}
process.exitCode = isSound(report) ? 0 : 1
