import { command } from '../command.ts'
import type { Finding } from '../doctor/check.ts'
import { EXIT } from '../exit-codes.ts'
import type { Terminal } from '../terminal.ts'

/** `fairlead doctor`: is all in place, and if not, what is to be done? */
export const doctor = command({
  name: 'doctor',
  summary: 'Check the installation, and say what to do about what is wrong.',
  details:
    'Looks at the configuration, the store and its schema, the clock, the port, permissions, tokens, and\n' +
    'Redis and the booking sites if they are configured. It changes nothing. Ends with 1 if anything has to be repaired.',
  needs: 'file',
  tellsWarnings: true,
  examples: [
    ['fairlead doctor', 'Check what `fairlead serve` would find here.'],
    ['fairlead doctor --json', 'The same for a program.'],
  ],

  async run({ config, terminal, print }) {
    const { examine } = await import('../doctor/examine.ts')
    const findings = await examine(config)
    const failed = findings.filter(({ status }) => status === 'fail').length
    print({ ok: failed === 0, findings }, report(findings, terminal))
    return failed === 0 ? EXIT.ok : EXIT.failed
  },
})

function report(findings: readonly Finding[], { colors }: Terminal): string[] {
  const mark = { ok: colors.green('ok  '), warn: colors.yellow('warn'), fail: colors.red('FAIL') }
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.flatMap(({ name, status, text, advice }) => {
    const [line = '', ...more] = `${mark[status]}  ${name.padEnd(width)}  ${text}`.split('\n')
    return advice === null
      ? [line, ...more]
      : [line, ...more, `${' '.repeat(width + 8)}→ ${advice}`]
  })
  const failed = findings.filter(({ status }) => status === 'fail').length
  const sum = failed === 0 ? 'Nothing stands in the way of a start.' : `To be repaired: ${failed}.`
  return [...lines, '', sum]
}
