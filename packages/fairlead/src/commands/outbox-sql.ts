import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead outbox sql`. */
export const outboxSql = command<{ notify?: boolean }>({
  name: 'outbox sql',
  summary: 'Print the SQL of the outbox table, for a migration.',
  args: [{ name: '<database>', text: 'postgres or sqlite' }],
  options: [
    {
      flags: '--notify',
      text: 'postgres: with a trigger that wakes the relay; it slows down busy writers',
    },
  ],
  examples: [
    ['fairlead outbox sql postgres > migrations/0012-outbox.sql', 'For PostgreSQL.'],
    ['fairlead outbox sql sqlite | sqlite3 app.db', 'Into a SQLite file.'],
  ],

  async run({ args, flags, print }) {
    const { DATABASES, outboxSql: sqlOf } = await import('../outbox/create-outbox.ts')
    const { oneOfWords } = await import('../flags/flags.ts')
    const database = oneOfWords('database', args[0] ?? '', DATABASES)
    const sql = sqlOf(database, { notify: flags.notify === true })
    print({ sql }, sql.trimEnd().split('\n'))
    return EXIT.ok
  },
})
