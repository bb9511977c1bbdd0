import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const packages = join(import.meta.dirname, '../packages')

interface Manifest {
  readonly private?: boolean
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | { readonly types: string }>>
}

/** Only the packages of Fairlead use it, and it may change in any release. */
const NOT_PUBLIC = './internal'

// A change of these lists is a change for users: it belongs into the changelog.
it.each(readdirSync(packages))('packages/%s offers what it is known to offer', async (name) => {
  const manifest = JSON.parse(
    readFileSync(join(packages, name, 'package.json'), 'utf8'),
  ) as Manifest
  if (manifest.private === true) return expect(name).toBe('testkit')
  const lines = Object.keys(manifest.bin ?? {}).map((command) => `command ${command}`)
  for (const [path, target] of Object.entries(manifest.exports ?? {})) {
    if (path === NOT_PUBLIC) continue
    const file = typeof target === 'string' ? target : target.types
    lines.push(path, ...surfaceOf(join(packages, name, file)).map((entry) => `  ${entry}`))
  }
  expect(lines).not.toEqual([])
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`public-surface.${name}.txt`)
})

/** The names that a built module exports, sorted; those that are types only say so. */
function surfaceOf(declarations: string): readonly string[] {
  const text = readFileSync(declarations, 'utf8')
  const found = new Set<string>()
  for (const [, isType, names = ''] of text.matchAll(/^export (type )?\{([^}]*)\}/gm)) {
    for (const item of names.split(',').map((each) => each.trim())) {
      if (item === '') continue
      const name = item.replace(/^type /, '').replace(/^.* as /, '')
      found.add(isType !== undefined || item.startsWith('type ') ? `type ${name}` : name)
    }
  }
  const own = /^export (?:declare )?(?:abstract )?(function|class|const|type|interface) (\w+)/gm
  for (const [, kind, name] of text.matchAll(own)) {
    found.add(kind === 'type' || kind === 'interface' ? `type ${name}` : `${name}`)
  }
  return [...found].sort()
}
