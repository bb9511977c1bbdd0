import { FairleadError } from '@fairlead/core'
import type { Command } from 'commander'
import { runRulesMarket } from '../demo/rules-market.ts'
import { rulesFigures, rulesReport } from '../demo/rules-report.ts'
import { EXIT, type Terminal } from '../terminal.ts'

/** `fairlead demo --rules`: a small market on a simulated clock, in memory. */
export function demo(program: Command, terminal: Terminal, finish: (exit: number) => void): void {
  program
    .command('demo')
    .description('Run a small market in memory on a simulated clock, and show what the rules did.')
    .option('--rules', 'the demo of the rules; there is no other yet')
    .option('--seed <n>', 'another market; the same seed gives the same output', '1')
    .option('--json', 'print the figures as one JSON document')
    .action((options: { seed: string; json?: boolean }) => {
      const { bold, dim } = terminal.colors
      const seed = readSeed(options.seed)
      terminal.note(`A dozen providers, a few hundred jobs, seed ${seed}.`)
      const result = runRulesMarket(seed, (done, of, simulatedMs) => {
        terminal.progress(progressLine(done, of, simulatedMs))
      })
      terminal.progress('')
      if (options.json === true) terminal.out(JSON.stringify(rulesFigures(result), null, 2))
      else {
        terminal.out(rulesReport(result, bold))
        terminal.note(dim('\nAnother market: fairlead demo --rules --seed 2'))
      }
      finish(EXIT.ok)
    })
}

function readSeed(text: string): number {
  const seed = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed
  throw new FairleadError(
    'InvalidParams',
    `--seed: expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, got ${text}`,
  )
}

function progressLine(done: number, of: number, simulatedMs: number): string {
  const width = 30
  const filled = Math.floor((width * done) / of)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
  return `${bar} ${done} of ${of} jobs, ${(simulatedMs / 1_000).toFixed(0)} s simulated`
}
