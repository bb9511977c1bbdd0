import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
/** What looks like the number of a rule, and is not the name of an encoding. */
const RULE = /\b(?!UTF-)[A-Z]{2,}-\d{1,2}\b/g

const headings = markdownIn('docs/spec').flatMap((text) =>
  [...text.matchAll(/^### ([A-Z]+-\d+)$/gm)].map((match) => match[1] as string),
)
const rules = new Set(headings)

it('a number names one rule', () => {
  expect(headings.filter((id, i) => headings.indexOf(id) !== i)).toEqual([])
})

it('every rule that code or a test quotes is in the spec', () => {
  const quoted = [...typescriptIn('packages'), ...typescriptIn('test')].flatMap(({ path, text }) =>
    [...text.matchAll(RULE)]
      .map(([id]) => id)
      .filter((id) => !rules.has(id))
      .map((id) => `${path} quotes ${id}`),
  )
  expect(quoted).toEqual([])
})

it('every rule of the spec is in the title of a test', () => {
  const tests = [...typescriptIn('packages'), ...typescriptIn('test')].filter(
    ({ path }) => path.endsWith('.test.ts') || path.includes('/conformance/'),
  )
  const tested = new Set(tests.flatMap(titlesIn).flatMap((title) => title.match(RULE) ?? []))
  expect([...rules].filter((rule) => !tested.has(rule))).toEqual([])
})

it('a title counts where its test runs', () => {
  const text = `
    it('runs', () => {})
    describe.each([1])('runs for each %i', () => { test.prop([any])('runs by property', () => {}) })
    it.skip('is skipped', () => {})
    it.runIf(isLong)('runs at times', () => {})
    it.each([['an argument']])('runs with %s', () => { expect('in the body').toBe('there') })
    run('is no test', () => {})`
  expect(titlesIn({ path: 'some.test.ts', text })).toEqual([
    'runs',
    'runs for each %i',
    'runs by property',
    'runs with %s',
  ])
})

/** Functions that take a title and a body, and what of them does not run with `npm test`. */
const TITLED = new Set(['describe', 'it', 'test'])
const NOT_RUN = new Set(['skip', 'todo', 'runIf'])

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** The titles of all tests and groups in a file. */
function titlesIn({ path, text }: { path: string; text: string }): string[] {
  const titles: string[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (typeof value !== 'object' || value === null || !('type' in value)) return
    const node = value as Node
    const [title, ...rest] = node.type === 'CallExpression' ? (node['arguments'] as Node[]) : []
    if (title !== undefined && rest.length > 0) {
      const [name = '', ...more] = namesOf(node['callee'] as Node)
      const isRun = TITLED.has(name) && !more.some((one) => NOT_RUN.has(one))
      if (isRun) titles.push(text.slice(title.start + 1, title.end - 1))
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts' }, path))
  return titles
}

/** `it`, `each` of `it.each(rows)`. */
function namesOf(node: Node): string[] {
  if (node.type === 'Identifier') return [node['name'] as string]
  if (node.type === 'CallExpression') return namesOf(node['callee'] as Node)
  if (node.type === 'TaggedTemplateExpression') return namesOf(node['tag'] as Node)
  if (node.type !== 'MemberExpression') return []
  const property = (node['property'] as Node)['name'] as string
  return [...namesOf(node['object'] as Node), property]
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'))
}

function typescriptIn(folder: string): { path: string; text: string }[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/node_modules|dist/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, folder, path), 'utf8') }))
}
