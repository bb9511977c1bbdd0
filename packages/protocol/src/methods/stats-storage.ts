import { z } from 'zod'
import { AT } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { storage } from '../records/dashboard/storage.ts'
import { timeMs } from '../wire/leaves.ts'

export const statsStorage = defineMethod({
  name: 'stats.storage',
  summary: 'Log, tables, growth and the last backup.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({
    at: timeMs,
    storage: storage.nullable().describe('null: the server does not know its store'),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      at: AT,
      storage: {
        log: { bytes: 33_554_432, batches: 12, newest: 4_711 },
        tables: {
          ...{ bytes: 1_048_576, wal_bytes: 65_536, behind_changes: 3, batch: 4_700 },
          ...{ checkpoint_at: AT - 800, checkpoint_age_ms: 800 },
        },
        growth: { bytes_per_hour: 2_097_152, over_ms: 600_000 },
        disk_free_bytes: 21_474_836_480,
        journal: { oldest: 1, newest: 9_000 },
        last_backup: {
          ...{ at: AT - 3_600_000, age_ms: 3_600_000 },
          ...{ path: '/var/backups/fairlead-2026-11-19.db', bytes: 1_048_576 },
        },
      },
    },
  },
})
