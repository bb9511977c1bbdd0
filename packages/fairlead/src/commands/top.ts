import type { Stats } from '@fairlead/client'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly interval: string
  readonly once?: boolean
}

/** `fairlead top`: the state of a server on one screen. */
export const top = command<Flags>({
  name: 'top',
  summary: 'Watch a server live: queues, rates, providers, oldest waits.',
  details: 'Ends with q or Ctrl-C. Where nobody watches, one look is printed.',
  options: [
    { flags: '--interval <time>', text: 'time between two looks', default: '1s' },
    { flags: '--once', text: 'print one look and end' },
  ],
  needs: 'server',
  examples: [
    ['fairlead top', 'Live.'],
    ['fairlead top --once --json', 'One look, for a program.'],
  ],

  async run({ flags, client, print, isJson, terminal }) {
    const { duration } = await import('../flags/flags.ts')
    const { topText } = await import('../top/top-text.ts')
    const intervalMs = Math.max(100, duration('--interval', flags.interval))
    const server = await client()
    const look = (): Promise<Stats> => server.call('stats.get', {})
    if (flags.once === true || isJson || terminal.screen === null) {
      const stats = await look()
      const size = terminal.screen ?? { columns: 100, rows: 60 }
      print(stats, topText(stats, [], { ...size, colors: terminal.colors, url: server.url }))
      return EXIT.ok
    }
    const { watchTop } = await import('../top/watch-top.ts')
    await watchTop({ look, intervalMs, terminal, url: server.url })
    return EXIT.ok
  },
})
