import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Flags {
  readonly exit?: boolean
  readonly dir?: string
  readonly port: string
  readonly jobs: string
  readonly rules?: boolean
  readonly fund?: boolean
  readonly seed: string
}

/** `fairlead demo`: what a newcomer sees first. */
export const demo = command<Flags>({
  name: 'demo',
  summary: 'See it work: a server, five providers and a few hundred jobs of each kind.',
  details: [
    'A real server on a SQLite file, and five providers in processes of their own: one is steady, one',
    'slow, one fails at times, one declines, one crashes and comes back. After 20 s a booking opens for 200',
    'people and 30 seats. It ends with who waited how long and why, and who got a seat, and stays up until Ctrl-C.',
    'With --fund providers prove their work and are paid for it, in epochs of four seconds: one is honest, one slow, of',
    'one traps fail, one proves late, one takes stake out. It ends with the settled epochs, verified offline.',
  ].join('\n'),
  options: [
    {
      flags: '--exit',
      text: 'end after the summary; with 0 only if every job came to its right end',
    },
    {
      flags: '--dir <folder>',
      text: 'where the store goes (a temporary folder, removed at the end)',
    },
    { flags: '--port <n>', text: 'port to listen on; 0 takes a free one', default: '0' },
    { flags: '--jobs <n>', text: 'jobs of each kind', default: '300' },
    { flags: '--rules', text: 'instead: only the rules, in memory on a simulated clock' },
    {
      flags: '--fund',
      text: 'instead: a fund with proofs, epochs and a slash; with --rules on a simulated clock',
    },
    { flags: '--seed <n>', text: 'with --rules: another market', default: '1' },
  ],
  examples: [
    ['fairlead demo', 'Watch it, then look around with the other commands.'],
    ['fairlead demo --exit --jobs 50', 'A short run, as a test.'],
    ['fairlead demo --rules --seed 2', 'What the rules do; the same seed gives the same output.'],
    ['fairlead demo --fund', 'A fund: proofs, settled epochs, a slash.'],
    ['fairlead demo --rules --fund --seed 2', 'A fund; the same seed gives the same batch ids.'],
  ],

  async run({ flags, terminal, print, isJson }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const seed = wholeNumber('--seed', flags.seed)
    if (flags.rules === true && flags.fund === true) return showRulesFund(seed, terminal, print)
    if (flags.rules === true) return showRules(seed, terminal, print)
    const perKind = wholeNumber('--jobs', flags.jobs, { min: 1, max: 100_000 })
    const port = wholeNumber('--port', flags.port, { max: 65_535 })
    if (flags.fund === true) {
      const { runLiveFund } = await import('../demo/fund/live-fund.ts')
      return await runLiveFund({ dir: flags.dir, port, perKind, isJson, terminal })
    }
    const { runLiveDemo } = await import('../demo/live-demo.ts')
    const isBrief = flags.exit === true
    return await runLiveDemo({ dir: flags.dir, port, perKind, isBrief, isJson, terminal })
  },
})

async function showRules(
  seed: number,
  terminal: Terminal,
  print: (value: unknown, text: readonly string[]) => void,
): Promise<number> {
  const { runRulesMarket } = await import('../demo/rules-market.ts')
  const { rulesFigures, rulesReport } = await import('../demo/rules-report.ts')
  const { progressBar } = await import('../terminal/progress-bar.ts')
  const { bold, dim } = terminal.colors
  terminal.note(`A dozen providers, a few hundred jobs, seed ${seed}.`)
  const result = runRulesMarket(seed, (done, of, simulatedMs) => {
    const simulated = `${(simulatedMs / 1_000).toFixed(0)} s simulated`
    terminal.progress(`${progressBar(done, of)} ${done} of ${of} jobs, ${simulated}`)
  })
  terminal.progress('')
  print(rulesFigures(result), rulesReport(result, bold))
  terminal.note(['', dim('Another market: fairlead demo --rules --seed 2')])
  return EXIT.ok
}

/** The same for a fund: five providers, four epochs. */
async function showRulesFund(
  seed: number,
  terminal: Terminal,
  print: (value: unknown, text: readonly string[]) => void,
): Promise<number> {
  const { runRulesFund } = await import('../demo/fund/rules-fund.ts')
  const { fundReport } = await import('../demo/fund/fund-report.ts')
  const { bold } = terminal.colors
  terminal.note(`Five providers, four epochs of a minute, seed ${seed}.`)
  const figures = runRulesFund(seed)
  print(figures, fundReport(figures, bold))
  return figures.wrong.length === 0 ? EXIT.ok : EXIT.failed
}
