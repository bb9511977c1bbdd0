import { command } from '../command.ts'
import type { Difference } from '../conformance/differences.ts'
import type { SuiteReport } from '../conformance/run-vectors.ts'
import { EXIT } from '../exit-codes.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `fairlead conformance <dir>`: do the rules of this build give what the vectors expect? */
export const conformance = command<{ suite?: string; redis?: string }>({
  name: 'conformance',
  summary: 'Run the conformance vectors of a folder against this build of the rules.',
  args: [{ name: '<dir>', text: 'folder with vector files (*.json)' }],
  options: [
    { flags: '--suite <name>', text: 'run one suite only' },
    {
      flags: '--redis <url>',
      text: 'run the suite limits on this Redis instead of in memory',
    },
  ],
  examples: [
    ['fairlead conformance vectors', 'Run all suites.'],
    ['fairlead conformance vectors --suite match', 'Run one, with its failures case by case.'],
  ],

  async run({ args, flags, terminal, isJson }) {
    const { runVectors } = await import('../conformance/run-vectors.ts')
    const show = isJson ? () => {} : (r: SuiteReport) => terminal.out(lines(r, terminal))
    const chosen = { only: flags.suite ?? null, redisUrl: flags.redis ?? null }
    const reports = await runVectors(args[0] as string, chosen, show)
    const passed = sum(reports, 'passed')
    const failed = sum(reports, 'failed')
    if (isJson)
      terminal.out(JSON.stringify({ passed, failed, suites: reports }, null, 2).split('\n'))
    return failed === 0 ? EXIT.ok : EXIT.failed
  },
})

function lines(
  { suite, known, passed, failed, failures }: SuiteReport,
  { colors }: Terminal,
): string[] {
  if (!known) return [`${suite}: ${colors.dim('skipped (unknown suite)')}`]
  const count = `${suite}: ${passed} passed, ${failed} failed`
  const rows = [failed === 0 ? count : colors.red(count)]
  for (const { name, differences } of failures) {
    rows.push(`  ${colors.bold(name)}`)
    for (const difference of differences) rows.push(`    ${shown(difference)}`)
  }
  return rows
}

function shown({ path, expected, actual }: Difference): string {
  return `${path === '' ? 'result' : path}: expected ${brief(expected)}, got ${brief(actual)}`
}

function brief(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}

function sum(reports: readonly SuiteReport[], field: 'passed' | 'failed'): number {
  return reports.reduce((total, report) => total + report[field], 0)
}
