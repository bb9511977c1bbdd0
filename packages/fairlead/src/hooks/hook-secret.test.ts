import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readSecret, signedHeaders } from './hook-secret.ts'

const KEY = Buffer.alloc(24, 7)
const TEXT = KEY.toString('base64')

it('HOOK-5: a signature is that of Standard Webhooks', () => {
  // The example of their specification.
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const given = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    secs: 1_614_265_330,
    body: '{"test": 2432232314}',
  }
  expect(signedHeaders(given, [key, KEY])).toMatchObject({
    'webhook-id': given.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': expect.stringMatching(
      /^v1,g0hM9SsE\+OTPJTGt\/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,[A-Za-z0-9+/]{43}=$/,
    ),
  })
})

it('HOOK-1: a secret comes from the environment or a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-secret-'))
  try {
    const read = (reference: string, env = {}) => readSecret({ reference, folder, env })
    expect(read('${env:SOME}', { SOME: TEXT })).toEqual([KEY])
    writeFileSync(join(folder, 'secret'), `whsec_${TEXT}\n${'QUJD'.repeat(16)}\n`)
    expect(read('${file:secret}')).toEqual([KEY, Buffer.from('ABC'.repeat(16))])
    expect(() => read('${file:missing}')).toThrow('missing (ENOENT)')
    for (const wrong of ['', 'AAAA', 'not base64 at all', 'A'.repeat(100), `${TEXT} AAAA`]) {
      expect(() => read('${env:SOME}', { SOME: wrong })).toThrow('in the variable SOME')
    }
    // A secret that is wrong may still be one.
    expect(() => read('${env:SOME}', { SOME: 'hunter2' })).not.toThrow('hunter2')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
