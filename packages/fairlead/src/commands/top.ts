import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { Seen } from '../top/top-text.ts'

interface Flags {
  readonly interval: string
  readonly once?: boolean
}

/** `fairlead top`: the state of a server on one screen. */
export const top = command<Flags>({
  name: 'top',
  summary: 'Watch a server live: is it fine, and why not; queues, rates, providers, oldest waits.',
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
    const look = async (): Promise<Seen> => {
      const [stats, verdict] = await Promise.all([
        server.call('stats.get', {}),
        server.call('stats.verdict', {}),
      ])
      return { ...stats, verdict }
    }
    if (flags.once === true || isJson || terminal.screen === null) {
      const seen = await look()
      const size = terminal.screen ?? { columns: 100, rows: 60 }
      print(seen, topText(seen, [], { ...size, colors: terminal.colors, url: server.url }))
      return EXIT.ok
    }
    const { watchTop } = await import('../top/watch-top.ts')
    await watchTop({ look, intervalMs, terminal, url: server.url })
    return EXIT.ok
  },
})
