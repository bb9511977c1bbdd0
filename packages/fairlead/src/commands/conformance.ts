import type { Command } from 'commander'
import type { Difference } from '../conformance/differences.ts'
import { runVectors, type SuiteReport } from '../conformance/run-vectors.ts'
import { EXIT, type Terminal } from '../terminal.ts'

/** `fairlead conformance <dir>`: do the rules of this build give what the vectors expect? */
export function conformance(
  program: Command,
  terminal: Terminal,
  finish: (exit: number) => void,
): void {
  program
    .command('conformance')
    .description('Run the conformance vectors of a folder against this build of the rules.')
    .argument('<dir>', 'folder with vector files (*.json)')
    .option('--suite <name>', 'run one suite only')
    .option('--redis <url>', 'run the suite limits on this Redis instead of in memory')
    .option('--json', 'print one JSON document instead of lines')
    .action(async (dir: string, options: { suite?: string; redis?: string; json?: boolean }) => {
      const show =
        options.json === true ? () => {} : (r: SuiteReport) => terminal.out(lines(r, terminal))
      const chosen = { only: options.suite ?? null, redisUrl: options.redis ?? null }
      const reports = await runVectors(dir, chosen, show)
      const passed = sum(reports, 'passed')
      const failed = sum(reports, 'failed')
      if (options.json === true)
        terminal.out(JSON.stringify({ passed, failed, suites: reports }, null, 2))
      finish(failed === 0 ? EXIT.ok : EXIT.failed)
    })
}

function lines(
  { suite, known, passed, failed, failures }: SuiteReport,
  { colors }: Terminal,
): string {
  if (!known) return `${suite}: ${colors.dim('skipped (unknown suite)')}`
  const count = `${suite}: ${passed} passed, ${failed} failed`
  const rows = [failed === 0 ? count : colors.red(count)]
  for (const { name, differences } of failures) {
    rows.push(`  ${colors.bold(name)}`)
    for (const difference of differences) rows.push(`    ${shown(difference)}`)
  }
  return rows.join('\n')
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
