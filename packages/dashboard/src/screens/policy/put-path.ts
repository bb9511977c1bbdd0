export type Tree = Readonly<Record<string, unknown>>

/** A tree with another value at a path of dots; what is beside it stays. */
export function withValue(tree: Tree, path: string, value: unknown): Tree {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) return { ...tree, [first]: value }
  const below = tree[first]
  const isTree = typeof below === 'object' && below !== null && !Array.isArray(below)
  return { ...tree, [first]: withValue(isTree ? (below as Tree) : {}, rest.join('.'), value) }
}

/** What somebody wrote for a setting: JSON, or else a text without quotes. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A value as one writes it. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}
