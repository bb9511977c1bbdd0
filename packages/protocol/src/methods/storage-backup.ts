import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { count } from '../wire/leaves.ts'

const PATH_CHARACTERS_MAX = 4_096

export const storageBackup = defineMethod({
  name: 'storage.backup',
  summary: 'Writes a backup of the store to a new file on the machine of the server.',
  description:
    'Everything that was answered before the call is in it, and work goes on meanwhile. The file is a complete store without a log; `fairlead restore` makes a server of it. The file of the keys that personal data is encrypted with is not in it. One backup is made at a time.',
  roles: [],
  access: 'write',
  params: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(PATH_CHARACTERS_MAX)
      .describe('absolute; nothing may be there yet, and its folder must be there'),
  }),
  result: z.strictObject({
    path: z.string(),
    batch: count.describe('the last batch of commands that it has'),
    bytes: count,
    key_file: z
      .string()
      .nullable()
      .describe('belongs to every backup and is not in it; null: there is none'),
  }),
  errors: ['InvalidState'],
  example: {
    params: { path: '/var/backups/fairlead-2026-11-19.db' },
    result: {
      path: '/var/backups/fairlead-2026-11-19.db',
      batch: 4_711,
      bytes: 1_048_576,
      key_file: '/var/lib/fairlead/fairlead.db.key',
    },
  },
})
