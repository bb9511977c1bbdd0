import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type Bench, median, type Report } from './bench.ts'
import * as match from './match.ts'
import * as scoreQueue from './score-queue.ts'
import * as storeCommit from './store-commit.ts'
import * as taskId from './task-id.ts'

/** `npm run bench -- NAME… [--json] [--check]`; without a name it lists what there is. */
const BENCHES: readonly Bench[] = [scoreQueue, match, taskId, storeCommit]

const { flags, positionals } = readArgs()

const wanted = positionals.map((name) => BENCHES.find((bench) => bench.name === name) ?? name)
const unknown = wanted.filter((bench) => typeof bench === 'string')
if (wanted.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`there is no bench ${unknown.join(', ')}`)
  console.error('usage: npm run bench -- NAME… [--json] [--check]\n')
  for (const { name, question } of BENCHES) console.error(`  ${name.padEnd(14)}${question}`)
  process.exit(2)
}

let missed = 0
for (const bench of wanted as Bench[]) {
  if (!flags.json) console.log(`${bench.name}: ${bench.question}`)
  await bench.run(reportOf(bench.name))
  if (!flags.json) console.log('')
}
if (!flags.json)
  console.log(`Node ${process.versions.node}, ${cpus()[0]?.model ?? 'unknown processor'}`)
if (flags.check && missed > 0) process.exitCode = 1

function readArgs(): { flags: { json: boolean; check: boolean }; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
      },
    })
    return { flags: values, positionals }
  } catch (error) {
    console.error((error as Error).message)
    process.exit(2)
  }
}

function reportOf(bench: string): Report {
  return {
    measured(row) {
      const value = median(row.values)
      // The distance from the lowest to the highest run, as a share of the median.
      const spread = (Math.max(...row.values) - Math.min(...row.values)) / value
      const { case: name, subject, unit } = row
      clearProgress()
      if (flags.json) {
        console.log(JSON.stringify({ bench, case: name, subject, value, unit, spread }))
      } else {
        const figure = `${shown(value)} ${unit}`.padStart(24)
        console.log(`  ${name.padEnd(42)}${figure}  ±${Math.round(spread * 50)} %  ${subject}`)
      }
      return value
    },
    bar({ bar, reached, atLeast, atMost }) {
      const needed = atLeast ?? atMost ?? Number.NaN
      const ok = atLeast === undefined ? reached <= needed : reached >= needed
      if (!ok) missed++
      clearProgress()
      if (flags.json) console.log(JSON.stringify({ bench, bar, needed, reached, ok }))
      else {
        const side = atLeast === undefined ? 'at most' : 'at least'
        console.log(
          `  ${ok ? 'ok    ' : 'MISSED'} ${bar}: ${shown(reached)}, needed ${side} ${shown(needed)}`,
        )
      }
    },
    progress: (text) => {
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K  ${text}`)
      else process.stderr.write(`${bench}: ${text}\n`)
    },
  }
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K')
}

function shown(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
