import type { Caller, JobId, LeaseId, ProviderId, WorkerId } from '@fairlead/core'
import { z } from 'zod'

/**
 * What has one form in JSON and another in CBOR. Schemas describe the JSON form; `wireCodec` reads the
 * leaves of a schema to get from one to the other.
 *
 * - `bytes`: `0x` hex in JSON, raw in CBOR (VALUE-3)
 * - `u64`: in JSON a number or, above 2^53 − 1, a decimal string; in CBOR an integer (VALUE-2)
 * - `signed`: the same for a balance, which may be below 0
 * - `payload`: what a job is to do. It comes in as it is, for the rules of its kind to check, and goes
 *   out as a `PayloadView`
 * - `json`: anything that JSON can hold
 */
export type Leaf = 'bytes' | 'u64' | 'signed' | 'payload' | 'json'

export const LEAVES = z.registry<{ leaf: Leaf }>()

function hexOf<Id extends string = string>(bytes: number): z.ZodType<Id, string> {
  const schema = z
    .string({ error: `expected ${bytes} bytes as 0x and ${2 * bytes} lower-case hex digits` })
    .regex(new RegExp(`^0x[0-9a-f]{${2 * bytes}}$`), {
      error: `expected ${bytes} bytes as 0x and ${2 * bytes} lower-case hex digits`,
    })
    .register(LEAVES, { leaf: 'bytes' })
  return schema as unknown as z.ZodType<Id, string>
}

export const taskId = hexOf<JobId>(32)
export const leaseId = hexOf<LeaseId>(32)
export const caller = hexOf<Caller>(32)
export const bytes32 = hexOf(32)

const HEX_EXPECTED = 'expected bytes as 0x and an even number of lower-case hex digits'
export const bytes = z
  .string({ error: HEX_EXPECTED })
  .regex(/^0x(?:[0-9a-f]{2})*$/, { error: HEX_EXPECTED })
  .register(LEAVES, { leaf: 'bytes' })

const U64_EXPECTED =
  'expected a whole number from 0 to 2^64 − 1 (above 2^53 − 1 as a decimal string)'
export const u64 = z
  .union([z.int().min(0), z.string().regex(/^(?:0|[1-9]\d{0,19})$/)], { error: U64_EXPECTED })
  .register(LEAVES, { leaf: 'u64' })

/** A balance: a whole number, above 2^53 − 1 on either side of 0 as a decimal string. */
export const signed = z
  .union([z.int(), z.string().regex(/^-?[1-9]\d{15,39}$/)])
  .register(LEAVES, { leaf: 'signed' })

/** An amount of money that moves. */
export const amount = z
  .union([z.int().min(1), z.string().regex(/^[1-9]\d{0,19}$/)], {
    error: 'expected a whole number from 1 to 2^64 − 1 (above 2^53 − 1 as a decimal string)',
  })
  .register(LEAVES, { leaf: 'u64' })

/** At most so many bytes, as `0x` hex. */
export function bytesUpTo(max: number): typeof bytes {
  const error = `expected 1 to ${max} bytes as 0x and lower-case hex digits`
  return z
    .string({ error })
    .regex(new RegExp(`^0x(?:[0-9a-f]{2}){1,${max}}$`), { error })
    .register(LEAVES, { leaf: 'bytes' })
}

export const providerId = z.string().regex(/^provider:[a-z0-9._-]{1,64}$/, {
  error: 'expected provider: and 1 to 64 of a–z, 0–9, dot, dash and underscore',
}) as unknown as z.ZodType<ProviderId, string>

export const workerId = z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/, {
  error: 'expected 1 to 128 of A–Z, a–z, 0–9, dot, colon, dash and underscore',
}) as unknown as z.ZodType<WorkerId, string>

/** Milliseconds since the Unix epoch. */
export const timeMs = z.int().min(0).describe('milliseconds since the Unix epoch')

/** Seconds since the Unix epoch, with the milliseconds as a fraction. */
export const timeSecs = z.number().min(0).describe('seconds since the Unix epoch, ms as a fraction')

export const count = z.int().min(0)

/** A name that somebody chose: text that can be stored, and not much of it. */
export const name = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed(), { error: 'expected well-formed Unicode' })

/** A JSON object whose keys are somebody's own. */
export const jsonObject = z
  .record(z.string(), z.unknown(), { error: 'expected an object' })
  .register(LEAVES, { leaf: 'json' })

export const json = z.unknown().register(LEAVES, { leaf: 'json' })

/** Room for what later versions may add. */
export const schemaVersion = z.literal(0)
