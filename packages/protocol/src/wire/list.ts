import { z } from 'zod'

/** More are not looked for: an answer names the first few, and each costs its sender nothing. */
export const PROBLEMS_MAX = 20

interface ListDef<Item extends z.ZodType> extends z.core.$ZodArrayDef<Item> {
  readonly itemsMax: number
}

/**
 * A list of at most so many items (RPC-5). Its length is checked before its first item, and the check ends
 * with the twentieth problem: a plain `z.array` reads a million items to refuse them.
 */
export function list<Item extends z.ZodType>(element: Item, itemsMax: number): z.ZodArray<Item> {
  return new List({ type: 'array', element, itemsMax }).max(itemsMax) as z.ZodArray<Item>
}

const List = z.core.$constructor<z.ZodArray, ListDef<z.ZodType>>('List', (schema, def) => {
  z.ZodArray.init(schema, def)
  const { element, itemsMax } = def
  schema._zod.parse = (payload, context) => {
    const written = payload.value as unknown
    if (!Array.isArray(written)) {
      payload.issues.push({ code: 'invalid_type', expected: 'array', input: written, inst: schema })
      return payload
    }
    // The check for the length follows, and tells.
    if (written.length > itemsMax) return payload
    const items: unknown[] = []
    for (let i = 0; i < written.length && payload.issues.length < PROBLEMS_MAX; i++) {
      const item = element._zod.run({ value: written[i] as unknown, issues: [] }, context)
      if (item instanceof Promise) throw new Error('schemas of params are synchronous')
      payload.issues.push(...z.core.util.prefixIssues(i, item.issues))
      items.push(item.value)
    }
    payload.value = items
    return payload
  }
})
