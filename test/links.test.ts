import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
/** Pages of other people, and what is made. */
const SKIPPED = new Set(['node_modules', 'dist', '.git', 'vectors'])

const pages = markdownUnder(root)

it('links between pages lead to files and headings that are there', () => {
  const broken = pages.flatMap((page) =>
    linksOf(readFileSync(page, 'utf8'))
      .map((link) => ({ link, problem: problemWith(page, link) }))
      .filter(({ problem }) => problem !== null)
      .map(({ link, problem }) => `${relative(root, page)}: ${link}: ${problem}`),
  )
  expect(broken).toEqual([])
})

it('a broken link is found, and code is none', () => {
  const page = join(root, 'README.md')
  const text =
    '[a](docs/none.md) `[b](c)` [c](docs/outbox.md#none)\n```\n[d](e)\n```\n[f](docs/outbox.md#write)'
  const found = linksOf(text).filter((link) => problemWith(page, link) !== null)
  expect(found).toEqual(['docs/none.md', 'docs/outbox.md#none'])
})

function problemWith(page: string, link: string): string | null {
  if (/^[a-z]+:/i.test(link)) return null
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : join(dirname(page), decodeURIComponent(path))
  if (!existsSync(file)) return 'there is no such file'
  if (anchor === undefined || statSync(file).isDirectory() || !file.endsWith('.md')) return null
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor) ? null : 'there is no such heading'
}

function linksOf(text: string): string[] {
  const links = withoutCode(text).matchAll(/\]\(<?([^()\s>]+(?:\([^()]*\)[^()\s>]*)*)>?\)/g)
  return [...links].map((match) => match[1] as string)
}

/** As they are shown on the page: in small letters, without punctuation, with a number where they repeat. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutFences(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
    const slug = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/`[^`\n]*`/g, 'code')
}

function withoutFences(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
}

function markdownUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return markdownUnder(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}
