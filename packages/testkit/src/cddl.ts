import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CborFloat, type CborValue } from '@fairlead/core'
import { parse } from 'cddl'

/** What the parser makes of a file, as far as it is looked at here. */
interface Entry {
  readonly Name: string
  readonly Occurrence: { readonly n: number; readonly m: number }
  readonly Type: Type | readonly Type[]
}
type Type =
  | string
  | {
      readonly Type: string
      readonly Name?: string
      readonly Value?: unknown
      readonly Properties?: readonly Entry[]
      readonly Values?: readonly Entry[]
      readonly Operator?: { readonly Type: string; readonly Value: { readonly Value: unknown } }
    }
interface Rule {
  readonly Name: string
  readonly Properties?: readonly Entry[]
  readonly Values?: readonly Entry[]
  readonly PropertyType?: readonly Type[]
}

const PLAIN: Readonly<Record<string, (value: CborValue) => boolean>> = {
  any: () => true,
  bool: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  tstr: (value) => typeof value === 'string',
  bstr: (value) => value instanceof Uint8Array,
  uint: (value) => isInteger(value) && value >= 0,
  int: isInteger,
  float: (value) => value instanceof CborFloat,
}

/**
 * Checks decoded CBOR against CDDL: the part of it that the schemas of the wire use. The files are read by
 * a parser from elsewhere, so that what they say is CDDL and not only ours.
 */
export class Cddl {
  readonly #rules = new Map<string, Rule>()

  constructor(folder: string) {
    const files = readdirSync(folder).filter((name) => name.endsWith('.cddl'))
    for (const file of files) {
      for (const rule of parse(join(folder, file)) as unknown as Rule[])
        this.#rules.set(rule.Name, rule)
    }
  }

  get names(): string[] {
    return [...this.#rules.keys()]
  }

  /** The fields of a map that is a rule of its own. */
  fieldsOf(name: string): string[] {
    return (this.#rules.get(name)?.Properties ?? []).map((entry) => entry.Name)
  }

  /** Where a value differs from a rule; null if it fits. */
  problem(name: string, value: CborValue, path = name): string | null {
    const rule = this.#rules.get(name)
    if (rule === undefined) return `${path}: there is no rule ${name}`
    if (rule.Properties !== undefined) return this.#map(rule.Properties, value, path)
    if (rule.Values !== undefined) return this.#array(rule.Values, value, path)
    return this.#oneOf(rule.PropertyType ?? [], value, path)
  }

  #oneOf(types: readonly Type[], value: CborValue, path: string): string | null {
    const problems: string[] = []
    for (const type of types) {
      const problem = this.#type(type, value, path)
      if (problem === null) return null
      problems.push(problem)
    }
    return problems.join(' | ')
  }

  #type(type: Type, value: CborValue, path: string): string | null {
    if (typeof type === 'string') return this.#plain(type, value, path)
    if (type.Type === 'literal')
      return value === type.Value ? null : `${path}: not ${String(type.Value)}`
    if (type.Type === 'array') return this.#array(type.Values ?? [], value, path)
    if (type.Type === 'group') {
      if (type.Properties !== undefined) return this.#map(type.Properties, value, path)
      return this.problem(String(type.Value), value, path)
    }
    const wrong = this.#plain(type.Type, value, path)
    if (wrong !== null || type.Operator?.Type !== 'size') return wrong
    const size = type.Operator.Value.Value
    return (value as Uint8Array).length === size ? null : `${path}: not of ${String(size)} bytes`
  }

  #plain(name: string, value: CborValue, path: string): string | null {
    const fits = PLAIN[name]
    if (fits === undefined) return `${path}: the type ${name} is not known here`
    return fits(value) ? null : `${path}: not ${name}`
  }

  #array(values: readonly Entry[], value: CborValue, path: string): string | null {
    if (!Array.isArray(value)) return `${path}: not an array`
    const types = typesOf(values[0]?.Type ?? [])
    for (const [i, item] of (value as CborValue[]).entries()) {
      const problem = this.#oneOf(types, item, `${path}[${i}]`)
      if (problem !== null) return problem
    }
    return null
  }

  #map(entries: readonly Entry[], value: CborValue, path: string): string | null {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isMap || value instanceof Uint8Array || value instanceof CborFloat)
      return `${path}: not a map`
    const map = value as Readonly<Record<string, CborValue>>
    // `* tstr => any`: whatever there is.
    const isOpen = entries.some(({ Name, Occurrence }) => Name === 'tstr' && Occurrence.m > 1)
    if (isOpen) return null
    for (const { Name, Occurrence, Type } of entries) {
      const item = map[Name]
      if (item === undefined) {
        if (Occurrence.n > 0) return `${path}.${Name}: missing`
        continue
      }
      const problem = this.#oneOf(typesOf(Type), item, `${path}.${Name}`)
      if (problem !== null) return problem
    }
    const extra = Object.keys(map).find((key) => !entries.some(({ Name }) => Name === key))
    return extra === undefined ? null : `${path}.${extra}: not in the rule`
  }
}

function typesOf(type: Type | readonly Type[]): readonly Type[] {
  return Array.isArray(type) ? (type as readonly Type[]) : [type as Type]
}

function isInteger(value: CborValue): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}
