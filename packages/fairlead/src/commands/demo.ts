import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { Terminal } from '../terminal.ts'

interface Flags {
  readonly rules?: boolean
  readonly seed: string
}

/** `fairlead demo --rules`: a small market on a simulated clock, in memory. */
export const demo = command<Flags>({
  name: 'demo',
  summary: 'See it work: a server, five workers and a few hundred jobs.',
  options: [
    { flags: '--rules', text: 'only the rules, in memory on a simulated clock' },
    { flags: '--seed <n>', text: 'another market; the same seed gives the same output', default: '1' },
  ],
  examples: [['fairlead demo --rules --seed 2', 'What the rules do, the same each time.']],

  async run({ flags, terminal, print }) {
    return showRules(flags.seed, terminal, print)
  },
})

async function showRules(
  written: string,
  terminal: Terminal,
  print: (value: unknown, text: string) => void,
): Promise<number> {
  const { wholeNumber } = await import('../flags.ts')
  const { runRulesMarket } = await import('../demo/rules-market.ts')
  const { rulesFigures, rulesReport } = await import('../demo/rules-report.ts')
  const { progressBar } = await import('../progress-bar.ts')
  const { bold, dim } = terminal.colors
  const seed = wholeNumber('--seed', written)
  terminal.note(`A dozen providers, a few hundred jobs, seed ${seed}.`)
  const result = runRulesMarket(seed, (done, of, simulatedMs) => {
    const simulated = `${(simulatedMs / 1_000).toFixed(0)} s simulated`
    terminal.progress(`${progressBar(done, of)} ${done} of ${of} jobs, ${simulated}`)
  })
  terminal.progress('')
  print(rulesFigures(result), rulesReport(result, bold))
  terminal.note(dim('\nAnother market: fairlead demo --rules --seed 2'))
  return EXIT.ok
}
