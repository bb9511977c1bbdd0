import { command } from '../command.ts'
import type { Finding } from '../doctor/check.ts'
import { EXIT } from '../exit-codes.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Flags {
  readonly store?: string
  readonly fixClock?: boolean
}

/** `fairlead doctor`: is all in place, and if not, what is to be done? */
export const doctor = command<Flags>({
  name: 'doctor',
  summary: 'Check the installation, and say what to do about what is wrong.',
  details:
    'Looks at the configuration, the store, its schema and its log, the clock, the port, permissions, tokens, and\n' +
    'Redis and the booking sites if they are configured. It changes nothing. Ends with 1 if anything has to be repaired.\n' +
    'A server that runs on the store is asked too, and so is one that FAIRLEAD_URL names.\n' +
    'With --fix-clock it first repairs a store that was written by a clock more than a minute ahead, which no server opens:\n' +
    'times after now become earlier by as much, deadlines and waits too; openings of sessions stay. The audit log has an entry of it.',
  options: [
    { flags: '--store <file>', text: 'SQLite file with all state (./fairlead.db)' },
    {
      flags: '--fix-clock',
      text: 'move a store back that was written by a clock far ahead; set the clock right before',
    },
  ],
  needs: 'file',
  tellsWarnings: true,
  examples: [
    ['fairlead doctor', 'Check what `fairlead serve` would find here.'],
    ['fairlead doctor --store /var/lib/fairlead/f.db', 'Check another store.'],
    ['fairlead doctor --json', 'The same for a program.'],
    ['fairlead doctor --fix-clock', 'Repair a store from the future, then check.'],
  ],

  async run({ config, flags, terminal, print }) {
    const { examine } = await import('../doctor/examine.ts')
    const { fixStoreClock, fixedText } = await import('../doctor/fix-store-clock.ts')
    const load = () => config({ 'store.path': { flag: '--store', raw: flags.store } })
    const isFixing = flags.fixClock === true
    const fixed = isFixing ? await fixStoreClock((await load()).settings.store.path) : null
    const findings = await examine(load)
    const failed = findings.filter(({ status }) => status === 'fail').length
    const fix = isFixing ? { fixed_clock: fixed } : {}
    const told = isFixing ? [fixedText(fixed), ''] : []
    print({ ok: failed === 0, ...fix, findings }, [...told, ...report(findings, terminal)])
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
