import { CborFloat, type CborValue, fromHex, toHex } from '@fairlead/core'
import { jsonOf, showU64 } from '@fairlead/core/internal'
import type { z } from 'zod'
import { LEAVES, type Leaf } from './leaves.ts'
import { PayloadView } from './payload.ts'

/**
 * The way between the JSON form of a value, which schemas describe, and its CBOR form (RPC-6). What is
 * of the wrong type is left as it is, for the schema to refuse.
 */
export interface WireCodec {
  toCbor(json: unknown): CborValue
  fromCbor(cbor: CborValue): unknown
}

/** Made once for a schema, by a walk through it. */
export function wireCodec(schema: z.ZodType): WireCodec {
  const way = wayOf(schema) ?? AS_IS
  return {
    toCbor: (json) => way.toCbor(json) as CborValue,
    fromCbor: (cbor) => way.fromCbor(cbor),
  }
}

interface Way {
  readonly toCbor: (value: unknown) => unknown
  readonly fromCbor: (value: unknown) => unknown
}

const AS_IS: Way = { toCbor: (value) => value, fromCbor: (value) => value }

const LEAF_WAYS: { readonly [L in Leaf]: Way } = {
  bytes: {
    toCbor: (value) => (typeof value === 'string' ? (fromHex(value) ?? value) : value),
    // Text where bytes are due is no other spelling of them: it is refused as null would be.
    fromCbor: (value) => (value instanceof Uint8Array ? toHex(value) : wrongUnlessNull(value)),
  },
  u64: {
    toCbor: (value) => (typeof value === 'string' ? BigInt(value) : value),
    fromCbor: (value) => {
      if (typeof value === 'bigint' && value >= 0n) return showU64(value)
      return typeof value === 'number' ? value : wrongUnlessNull(value)
    },
  },
  signed: {
    toCbor: (value) => (typeof value === 'string' ? BigInt(value) : value),
    fromCbor: (value) => {
      if (typeof value !== 'bigint')
        return typeof value === 'number' ? value : wrongUnlessNull(value)
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    },
  },
  payload: {
    toCbor: (value) => (value instanceof PayloadView ? value.map : value),
    fromCbor: (value) => value,
  },
  json: { toCbor: (value) => value, fromCbor: (value) => jsonOf(value as CborValue) },
}

const FLOAT: Way = {
  toCbor: (value) => value,
  fromCbor: (value) => (value instanceof CborFloat ? value.value : value),
}

/** Null where a schema and all below it are the same in both forms. */
function wayOf(schema: z.ZodType): Way | null {
  const leaf = LEAVES.get(schema)?.leaf
  if (leaf !== undefined) return LEAF_WAYS[leaf]
  const { def } = (schema as unknown as { _zod: { def: Def } })._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'readonly':
      return present(wayOf(def.innerType as z.ZodType))
    case 'number':
      return def.checks?.some(isIntCheck) || def.format !== undefined ? null : FLOAT
    case 'array':
      return arrayWay(wayOf(def.element as z.ZodType))
    case 'object':
      return objectWay(def.shape as Record<string, z.ZodType>)
    case 'record':
      return recordWay(wayOf(def.valueType as z.ZodType))
    case 'union':
      return unionWay(def)
    default:
      return null
  }
}

interface Def {
  readonly type: string
  readonly innerType?: unknown
  readonly element?: unknown
  readonly valueType?: unknown
  readonly shape?: unknown
  readonly format?: unknown
  readonly checks?: readonly unknown[]
  readonly options?: readonly z.ZodType[]
  readonly discriminator?: string
}

function isIntCheck(check: unknown): boolean {
  return (check as { _zod: { def: { check: string } } })._zod.def.check === 'number_format'
}

function present(way: Way | null): Way | null {
  if (way === null) return null
  const skip = (step: (value: unknown) => unknown) => (value: unknown) =>
    value === undefined || value === null ? value : step(value)
  return { toCbor: skip(way.toCbor), fromCbor: skip(way.fromCbor) }
}

function arrayWay(item: Way | null): Way | null {
  if (item === null) return null
  const each = (step: (value: unknown) => unknown) => (value: unknown) =>
    Array.isArray(value) ? value.map(step) : value
  return { toCbor: each(item.toCbor), fromCbor: each(item.fromCbor) }
}

function objectWay(shape: Record<string, z.ZodType>): Way | null {
  const ways = Object.entries(shape).flatMap(([name, schema]) => {
    const way = wayOf(schema)
    return way === null ? [] : [[name, way] as const]
  })
  const each = (side: keyof Way) => (value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const copy: Record<string, unknown> = { ...value }
    // In JSON an undefined field is a field that is not there.
    for (const name in copy) if (copy[name] === undefined) delete copy[name]
    for (const [name, way] of ways) {
      if (Object.hasOwn(copy, name)) copy[name] = way[side](copy[name])
    }
    return copy
  }
  return { toCbor: each('toCbor'), fromCbor: each('fromCbor') }
}

/** Names that somebody chose, each with a value of one form. */
function recordWay(value: Way | null): Way | null {
  if (value === null) return null
  const each = (side: keyof Way) => (map: unknown) => {
    if (typeof map !== 'object' || map === null || Array.isArray(map)) return map
    return Object.fromEntries(Object.entries(map).map(([name, one]) => [name, value[side](one)]))
  }
  return { toCbor: each('toCbor'), fromCbor: each('fromCbor') }
}

/** Of a union with a discriminator the option that it names; others must be the same in both forms. */
function unionWay({ discriminator, options = [] }: Def): Way | null {
  const ways = options.map(wayOf)
  if (ways.every((way) => way === null)) return null
  if (discriminator === undefined) {
    throw new Error('a union with bytes or large numbers in it needs a discriminator')
  }
  const byTag = new Map<unknown, Way>()
  for (const [i, option] of options.entries()) {
    const tag = (option as unknown as z.ZodObject).shape[discriminator] as unknown as z.ZodLiteral
    for (const value of tag.values) byTag.set(value, ways[i] ?? AS_IS)
  }
  const chosen = (side: keyof Way) => (value: unknown) => {
    const tag = (value as Record<string, unknown> | null)?.[discriminator]
    return (byTag.get(tag) ?? AS_IS)[side](value)
  }
  return { toCbor: chosen('toCbor'), fromCbor: chosen('fromCbor') }
}

function wrongUnlessNull(value: unknown): unknown {
  return value === null || value === undefined ? value : false
}
