import { z } from 'zod'
import { json } from '../../wire/leaves.ts'

/** A setting of the policy. */
export const setting = z
  .strictObject({
    path: z.string().describe('as in queue.batch_size'),
    value: json,
    default: json.describe('in the preset in force'),
    is_default: z.boolean(),
    expected: z.string().describe('what it accepts, in words'),
    purpose: z.string(),
  })
  .meta({ id: 'Setting' })

/** A setting that a change of the policy changes. */
export const settingChange = z
  .strictObject({ path: z.string(), from: json, to: json })
  .meta({ id: 'SettingChange' })

export type SettingRecord = z.output<typeof setting>
export type SettingChangeRecord = z.output<typeof settingChange>
