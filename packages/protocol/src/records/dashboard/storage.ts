import { z } from 'zod'
import { count, timeMs } from '../../wire/leaves.ts'

/** The files of the server. */
export const storage = z
  .strictObject({
    log: z.strictObject({
      bytes: count.describe('size of the files of the log'),
      batches: count.describe('batches that the log keeps, because the tables may lack them'),
      newest: count.describe('number of the newest batch'),
    }),
    tables: z.strictObject({
      bytes: count.nullable().describe('size of the file of the tables; null: they are in none'),
      wal_bytes: count.nullable().describe('of its write-ahead log'),
      behind_changes: count.describe('changes that the tables do not have yet'),
      batch: count.describe('the last batch that the tables have for good'),
      checkpoint_at: timeMs
        .nullable()
        .describe('when they last took in changes; null: not since the start'),
      checkpoint_age_ms: count.nullable(),
    }),
    growth: z
      .strictObject({ bytes_per_hour: z.int(), over_ms: count.describe('measured over this time') })
      .nullable()
      .describe('of the tables; null: measured too briefly'),
    disk_free_bytes: count.nullable(),
    journal: z.strictObject({
      oldest: count.describe('number of the oldest audit entry that is kept'),
      newest: count.describe('number of the newest audit entry'),
    }),
    last_backup: z
      .strictObject({ at: timeMs, age_ms: count, path: z.string(), bytes: count })
      .nullable()
      .describe('since the start of the server; null: none was made'),
  })
  .meta({ id: 'Storage' })

export type StorageRecord = z.output<typeof storage>
