import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly from?: string
  readonly batch: string
  readonly poll: string
  readonly once?: boolean
}

/** `fairlead outbox relay`. */
export const outboxRelay = command<Flags>({
  name: 'outbox relay',
  summary: 'Move jobs from the outbox of an application to the server.',
  details: [
    'The application writes them in its own transactions, with enqueueInTransaction or plain SQL. Any number of relays may run.',
    'A row that the server refuses is marked with the reason and skipped; everything else is tried again.',
    'A password does not have to stand in the address: pg reads PGPASSWORD and ~/.pgpass.',
    'On SIGTERM or Ctrl-C the relay finishes what it has sent, and ends. With --once it ends with 1 if a row was refused.',
  ].join('\n'),
  options: [
    { flags: '--from <database>', text: 'postgres://… (needs the package pg), or a SQLite file' },
    { flags: '--batch <n>', text: 'rows that are sent at once', default: '200' },
    { flags: '--poll <time>', text: 'how often to look for new rows', default: '200ms' },
    { flags: '--once', text: 'end when no row is left' },
  ],
  needs: 'server',
  examples: [
    ['fairlead outbox relay --from postgres://app@db/shop', 'Until it is stopped.'],
    [
      'fairlead outbox relay --from ./app.db --once',
      'Moves the rows of a SQLite file that are there now, and ends.',
    ],
  ],

  async run({ flags, client, terminal, isJson, print }) {
    const { duration, misuse, wholeNumber } = await import('../flags/flags.ts')
    const { runRelay } = await import('../outbox/run-relay.ts')
    if (flags.from === undefined) {
      throw misuse('--from: expected a database, as in --from postgres://app@db/shop or ./app.db')
    }
    const { answered, refused } = await runRelay({
      from: flags.from,
      to: await client(),
      batch: wholeNumber('--batch', flags.batch, { min: 1, max: 10_000 }),
      pollMs: duration('--poll', flags.poll),
      isOnce: flags.once === true,
      note: (value, text) => terminal.note(isJson ? JSON.stringify(value) : text),
    })
    print(
      { answered, refused },
      `${answered} ${answered === 1 ? 'job' : 'jobs'} enqueued, ${refused} refused.`,
    )
    return flags.once === true && refused > 0 ? EXIT.failed : EXIT.ok
  },
})
