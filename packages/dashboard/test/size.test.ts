import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { DIST } from './served.ts'

const SCRIPT_BYTES_MAX = 120_000

const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).map((path) =>
  join(DIST, path),
)

it('VIEW-12: the page has at most 120 kB of JavaScript, gzipped', () => {
  const scripts = files.filter((file) => file.endsWith('.js'))
  const sizes = scripts.map((file) => gzipSync(readFileSync(file), { level: 9 }).length)
  expect(scripts.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX)
})

it('no file of it names another server', () => {
  const texts = files
    .filter((file) => /\.(js|css|html)$/.test(file))
    .map((file) => readFileSync(file, 'utf8'))
  const hosts = texts.flatMap((text) => text.match(/https?:\/\/[a-z0-9.-]+/g) ?? [])
  // The name of a vocabulary, and the example in an error: nobody is asked there.
  const known = ['http://www.w3.org', 'http://127.0.0.1']
  expect(hosts.filter((host) => !known.includes(host))).toEqual([])
})
