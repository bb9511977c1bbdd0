import { KIND_NAMES, REFUSALS, WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import { caller, count } from '../../wire/leaves.ts'

export const TENANT_STATES = ['no_demand', 'limited', 'owed'] as const

const ppm = count.max(1_000_000)

const tenant = z.strictObject({
  caller,
  name: z.string().nullable().describe('the subject of its token, if it has one'),
  weight: count,
  state: z
    .enum(TENANT_STATES)
    .describe(
      'no_demand: no job of it is ready; limited: its ready jobs are held up; owed: it has jobs that a provider would take',
    ),
  held_by: z
    .strictObject({
      reason: z.enum(WAIT_REASONS),
      check: z.enum(REFUSALS).nullable(),
      limit: z.string().nullable(),
    })
    .nullable()
    .describe('of a limited one: what holds the most of its jobs'),
  ready: count.describe('jobs that wait and are out of backoff'),
  units: count.describe('estimated units of the jobs that it was given in the window'),
  share_ppm: ppm.describe('its part of all units of the window'),
  entitled_ppm: ppm.describe('the part that its weight gives it, given what everybody asked for'),
  lag_units: z
    .int()
    .nullable()
    .describe(
      'how far it is behind the tenant that is furthest ahead, in its own units; null unless owed',
    ),
  bound_units: count
    .nullable()
    .describe('the lag that fair shares can lead to at most: its largest job and that other’s'),
})

const rest = z.strictObject({
  tenants: count,
  no_demand: count,
  limited: count,
  owed: count,
  ready: count,
  units: count,
  share_ppm: ppm,
  entitled_ppm: ppm,
  lag_units: z.int().nullable().describe('the largest among them'),
})

/** Who got how much of the service for one kind of jobs. */
export const fairness = z
  .strictObject({
    kind: z.enum(KIND_NAMES),
    mode: z.enum(['tenant', 'score']).describe('score: no shares are kept, only compared'),
    index: z
      .number()
      .nullable()
      .describe('Jain index of units per weight; null: nobody was served'),
    units: count.describe('of all tenants, in the window'),
    tenants_total: count,
    owed: count.describe('tenants'),
    limited: count.describe('tenants'),
    no_demand: count.describe('tenants'),
    tenants: z.array(tenant).describe('those who are furthest behind first'),
    rest: rest.nullable().describe('all others in sum'),
  })
  .meta({ id: 'Fairness' })

export type TenantRecord = z.output<typeof tenant>
export type FairnessRecord = z.output<typeof fairness>
