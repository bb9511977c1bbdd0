import { TERMS, termText } from './filter.ts'

export interface Completion {
  /** What the filter is with it, and where the cursor is then. */
  readonly text: string
  readonly cursor: number
  readonly shown: string
  readonly about: string
}

/** Values that are known beside those of the language, by term: names, providers. */
export type KnownValues = Readonly<Record<string, readonly string[]>>

const MOST = 12

/** What the word under the cursor can become: a term, or a value of the term that is there. */
export function completions(text: string, cursor: number, known: KnownValues): Completion[] {
  const start = startOfWord(text, cursor)
  const word = text.slice(start, cursor)
  const rest = text.slice(cursor)
  const colon = word.indexOf(':')
  const put = (put: string, shown: string, about: string, isDone: boolean): Completion => {
    const before = `${text.slice(0, start)}${put}${isDone && rest === '' ? ' ' : ''}`
    return { text: before + rest, cursor: before.length, shown, about }
  }
  if (colon < 0) {
    const used = new Set(text.match(/[a-z]+(?=:)/g) ?? [])
    return Object.entries(TERMS)
      .filter(([name]) => name.startsWith(word.toLowerCase()) && !used.has(name))
      .map(([name, { about }]) => put(`${name}:`, `${name}:`, about, false))
  }
  const name = word.slice(0, colon)
  const term = Object.hasOwn(TERMS, name) ? TERMS[name] : undefined
  if (term === undefined) return []
  const begun = word
    .slice(colon + 1)
    .replaceAll('"', '')
    .toLowerCase()
  const values = [...new Set([...term.values, ...(known[name] ?? [])])]
  return values
    .filter((value) => value.toLowerCase().startsWith(begun) && value.toLowerCase() !== begun)
    .slice(0, MOST)
    .map((value) => put(termText(name, value), value, '', true))
}

/** Spaces inside quotes belong to the word. */
function startOfWord(text: string, cursor: number): number {
  let start = 0
  let isQuoted = false
  for (let i = 0; i < cursor; i++) {
    if (text[i] === '"') isQuoted = !isQuoted
    else if (/\s/.test(text[i] ?? '') && !isQuoted) start = i + 1
  }
  return start
}
