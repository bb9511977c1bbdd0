import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type Bench, median, type Options, type Report, type Table } from './bench.ts'
import * as dashboard from './dashboard.ts'
import * as delayed from './delayed.ts'
import * as fair from './fair.ts'
import * as limiter from './limiter.ts'
import * as match from './match.ts'
import * as opening from './opening.ts'
import { UnknownName } from './queue/chosen.ts'
import * as queue from './queue.ts'
import * as rpc from './rpc.ts'
import * as scoreQueue from './score-queue.ts'
import * as settle from './settle.ts'
import * as storeCommit from './store-commit.ts'
import * as taskId from './task-id.ts'

/** `npm run bench -- NAME… [--json] [--check]`; without a name it lists what there is. */
const BENCHES: readonly Bench[] = [
  scoreQueue,
  delayed,
  match,
  taskId,
  storeCommit,
  queue,
  fair,
  rpc,
  limiter,
  opening,
  settle,
  dashboard,
]

const USAGE = `usage: npm run bench -- NAME… [--json] [--check]

  --json           one object a line
  --check          fails when a bar is missed
  queue, fair, rpc, limiter, opening, settle and dashboard also take
  --only A,B       some of their cases
  --subjects A,B   some of what they compare
  --repeats N      runs of each case
  --jobs N         jobs of a drain
  --seconds N      length of what is measured by time
  --sizes N,M      waiting jobs of the backlogs
  --peers-backlog  the largest backlog for peers too
`

const { flags, options, positionals } = readArgs()

const wanted = positionals.map((name) => BENCHES.find((bench) => bench.name === name) ?? name)
const unknown = wanted.filter((bench) => typeof bench === 'string')
if (flags.help || wanted.length === 0 || unknown.length > 0) {
  const say = flags.help ? console.log : console.error
  if (unknown.length > 0) say(`there is no bench ${unknown.join(', ')}`)
  say(USAGE)
  for (const { name, question } of BENCHES) say(`  ${name.padEnd(14)}${question}`)
  process.exit(flags.help ? 0 : 2)
}

let missed = 0
for (const bench of wanted as Bench[]) {
  if (!flags.json) console.log(`${bench.name}: ${bench.question}`)
  try {
    await bench.run(reportOf(bench.name), options)
  } catch (error) {
    if (!(error instanceof UnknownName)) throw error
    console.error(error.message)
    process.exit(2)
  }
  if (!flags.json) console.log('')
}
if (!flags.json)
  console.log(`Node ${process.versions.node}, ${cpus()[0]?.model ?? 'unknown processor'}`)
if (flags.check && missed > 0) process.exitCode = 1

function readArgs(): {
  flags: { json: boolean; check: boolean; help: boolean }
  options: Options
  positionals: string[]
} {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
        subjects: { type: 'string', default: '' },
        repeats: { type: 'string' },
        jobs: { type: 'string' },
        seconds: { type: 'string' },
        sizes: { type: 'string' },
        'peers-backlog': { type: 'boolean', default: false },
      },
    })
    const { repeats, jobs, seconds, sizes } = values
    const options: Options = {
      only: listOf(values.only),
      subjects: listOf(values.subjects),
      peersBacklog: values['peers-backlog'],
      ...(repeats === undefined ? {} : { repeats: count('repeats', repeats) }),
      ...(jobs === undefined ? {} : { jobs: count('jobs', jobs) }),
      ...(seconds === undefined ? {} : { seconds: count('seconds', seconds) }),
      ...(sizes === undefined ? {} : { sizes: listOf(sizes).map((one) => count('sizes', one)) }),
    }
    return { flags: values, options, positionals }
  } catch (error) {
    console.error((error as Error).message)
    process.exit(2)
  }
}

function listOf(text: string): string[] {
  return text.split(',').filter((name) => name !== '')
}

function count(flag: string, text: string): number {
  const value = Number(text.replaceAll('_', ''))
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new Error(`--${flag}: expected a whole number of at least 1, got ${text}`)
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
    table(table) {
      clearProgress()
      const rows = rowsOf(table)
      if (flags.json) for (const row of rows) console.log(JSON.stringify({ bench, ...row }))
      else console.log(textOf(table, rows))
      return new Map(rows.map(({ subject, value }) => [subject, value]))
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
    note: (text) => {
      clearProgress()
      console.log(flags.json ? JSON.stringify({ bench, note: text }) : `  note   ${text}`)
    },
  }
}

interface Row {
  readonly case: string
  readonly subject: string
  readonly durability: string
  readonly value: number
  readonly unit: string
  readonly spread: number
  readonly min: number
  readonly max: number
  /** To the first subject of the table. */
  readonly ratio: number
}

function rowsOf({ case: name, unit, rows }: Table): Row[] {
  const base = median(rows[0]?.values ?? [])
  return rows.map(({ subject, durability, values }) => {
    const value = median(values)
    const min = Math.min(...values)
    const max = Math.max(...values)
    const spread = (max - min) / value
    return { case: name, subject, durability, value, unit, spread, min, max, ratio: value / base }
  })
}

/** A line a subject: the median, the lowest and the highest run, and the ratio to the first subject. */
function textOf({ case: name, unit }: Table, rows: readonly Row[]): string {
  const lines = rows.map(({ subject, durability, value, min, max, ratio }) => {
    const range = `${shown(min)} – ${shown(max)}`
    return `    ${subject.padEnd(24)}${durability.padEnd(20)}${shown(value).padStart(10)} ${range.padStart(21)} ${`× ${ratio.toFixed(2)}`.padStart(9)}`
  })
  return [`  ${name}, ${unit}`, ...lines].join('\n')
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K')
}

function shown(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
