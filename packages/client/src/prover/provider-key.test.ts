import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { KEY_VARIABLE, proverKey } from './provider-key.ts'

const SEED = 'ab'.repeat(32)
const LINE = `ed25519 ${SEED}`

function keyFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-prover-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'provider.key')
  writeFileSync(path, text)
  return path
}

it('PROVE-4: the key comes from the file that is named, else from the environment', () => {
  const env = { [KEY_VARIABLE]: `${LINE}\n` }
  expect(proverKey(keyFile(`ed25519 ${'cd'.repeat(32)}\n`), env)).toEqual(Buffer.alloc(32, 0xcd))
  expect(proverKey(undefined, env)).toEqual(Buffer.alloc(32, 0xab))
})

it.each([
  ['bare hex, as the key of a store', SEED],
  ['half of a line', LINE.slice(0, 40)],
  ['another algorithm', `rsa ${SEED}`],
])('PROVE-4: %s is refused, and no message has any of it', (_, text) => {
  for (const read of [
    () => proverKey(keyFile(text), {}),
    () => proverKey(undefined, { [KEY_VARIABLE]: text }),
  ]) {
    let message = ''
    try {
      read()
    } catch (error) {
      expect(error).toMatchObject({ code: 'InvalidParams' })
      message = `${(error as Error).stack} ${JSON.stringify(error)}`
    }
    expect(message).toContain('fairlead keys new')
    expect(message).not.toContain('abab')
  }
})

it('PROVE-4: no key at all says where one is expected', () => {
  expect(() => proverKey(undefined, {})).toThrow(/--prover-key.*FAIRLEAD_PROVIDER_KEY/)
  expect(() => proverKey('/nowhere/provider.key')).toThrow(/cannot read \/nowhere\/provider.key/)
})
