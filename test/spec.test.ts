import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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

it('every rule of the spec is quoted by a test', () => {
  const tests = [...typescriptIn('packages'), ...typescriptIn('test')].filter(
    ({ path }) => path.endsWith('.test.ts') || path.includes('/conformance/'),
  )
  const quoted = new Set(tests.flatMap(({ text }) => text.match(RULE) ?? []))
  expect([...rules].filter((rule) => !quoted.has(rule))).toEqual([])
})

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
