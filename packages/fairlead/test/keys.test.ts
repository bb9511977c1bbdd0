import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromHex, publicKeyOf, signEd25519, toHex, verifyEd25519 } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fairlead } from './cli-process.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]) => fairlead(args, { cwd: folder })
const SEED = Buffer.alloc(32, 7)
const SEED_LINE = `ed25519 ${SEED.toString('hex')}`
const seedIn = (name: string) =>
  Buffer.from(readFileSync(join(folder, name), 'utf8').trim().split(' ')[1] as string, 'hex')

describe('FILES-5: the key of a provider', () => {
  it('FILES-5: a new key signs what its public key verifies, and the secret is not printed', async () => {
    const { code, out, err } = await run('keys', 'new')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(readFileSync(join(folder, 'provider.key'), 'utf8')).toMatch(/^ed25519 [0-9a-f]{64}\n$/)
    const [publicKey = ''] = out.split('\n')
    const message = Buffer.from('work')
    const signature = signEd25519(seedIn('provider.key'), message)
    expect(verifyEd25519(fromHex(publicKey) as Uint8Array, message, signature)).toBe(true)
    expect(out).not.toContain(seedIn('provider.key').toString('hex'))
    expect((await run('keys', 'show', 'provider.key')).out).toBe(`${publicKey}\n`)
  })

  it('FILES-1, FILES-5: only its owner may read it, whatever the umask is', async () => {
    const made = await fairlead(['keys', 'new', '--out', 'a.key'], { cwd: folder, umask: '0' })
    expect(made.code).toBe(0)
    expect(statSync(join(folder, 'a.key')).mode & 0o777).toBe(0o600)
  })

  it('FILES-5: a file that is there stays as it is', async () => {
    await run('keys', 'new', '--out', 'a.key')
    const before = readFileSync(join(folder, 'a.key'))
    const { code, err } = await run('keys', 'new', '--out', 'a.key')
    expect(code).toBe(2)
    expect(err).toMatch(/a\.key is there already/)
    expect(readFileSync(join(folder, 'a.key'))).toEqual(before)
  })

  it('FILES-5: a folder that is not there is told, and nothing is made', async () => {
    const { code, err } = await run('keys', 'new', '--out', 'none/a.key')
    expect({ code, files: readdirSync(folder) }).toEqual({ code: 2, files: [] })
    expect(err).toMatch(/cannot write none\/a\.key/)
  })

  it('FILES-5: --json has the public key and the file', async () => {
    const made = JSON.parse((await run('keys', 'new', '--json')).out)
    const public_key = toHex(publicKeyOf(seedIn('provider.key')))
    expect(made).toEqual({ public_key, file: 'provider.key' })
    expect(JSON.parse((await run('keys', 'show', 'provider.key', '--json')).out)).toEqual(made)
  })

  it('FILES-5: the example of the spec', async () => {
    writeFileSync(join(folder, 'seven.key'), `\n  ${SEED_LINE}\r\n`, { mode: 0o600 })
    const { out } = await run('keys', 'show', 'seven.key')
    const page = join(import.meta.dirname, '../../../docs/spec/installation.md')
    expect(readFileSync(page, 'utf8')).toContain(
      `\`${SEED_LINE}\`. Its public key is \`${out.trim()}\``,
    )
  })

  it.each([
    ['the key file of a store', SEED.toString('hex')],
    ['a digit too few', SEED_LINE.slice(0, -1)],
    ['upper case', SEED_LINE.toUpperCase()],
    ['two keys', `${SEED_LINE}\n${SEED_LINE}`],
    ['nothing', ''],
  ])('FILES-5: %s is refused without a word of it', async (_, text) => {
    writeFileSync(join(folder, 'bad.key'), text, { mode: 0o600 })
    const { code, out, err } = await run('keys', 'show', 'bad.key')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/bad\.key: expected the line/)
    expect(err).not.toMatch(/0707/)
  })

  it('FILES-5: a file that others may read is told', async () => {
    writeFileSync(join(folder, 'open.key'), SEED_LINE)
    chmodSync(join(folder, 'open.key'), 0o644)
    const { code, err } = await run('keys', 'show', 'open.key')
    expect(code).toBe(0)
    expect(err).toMatch(/chmod 600 open\.key/)
  })
})
