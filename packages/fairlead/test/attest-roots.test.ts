import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publicKeyOf } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CertificateAuthority, pemOf } from '../dist/demo/fund/authority.js'
import { fairlead } from './cli-process.ts'

const VALID = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2046, 0, 1) }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-roots-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]) => fairlead(args, { cwd: folder })
const write = (name: string, content: string | Uint8Array) =>
  writeFileSync(join(folder, name), content)
const fingerprint = (der: Uint8Array) => `0x${createHash('sha256').update(der).digest('hex')}`

describe('FILES-6: pinned roots', () => {
  const authority = new CertificateAuthority('Maker One', VALID)
  const chain = authority.chainFor('gpu-1', publicKeyOf(Buffer.alloc(32, 7)))

  it('FILES-6: what `attest roots` prints is a file that a configuration takes', async () => {
    write('root.der', authority.root)
    const { code, out, err } = await run(
      ...['attest', 'roots', 'root.der', '--class', 'enclave', '--kind', 'ai', '--kind', 'quantum'],
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('is CN=Maker One, until 2046-01-01T00:00:00.000Z')
    write('roots.yaml', out)
    write('fairlead.yaml', 'preset: fund\nattestation:\n  roots: roots.yaml\n')
    const checked = await run('policy', 'check', '--json')
    expect({ code: checked.code, err: checked.err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(checked.out).settings).toMatchObject({
      'registry.attestation_classes': expect.stringContaining('roots.yaml') as string,
    })
    const { loadConfig } = await import('../dist/config/load-config.js')
    expect(loadConfig({ env: {}, cwd: folder }).policy.registry.attestationClasses).toEqual({
      enclave: { kinds: ['ai', 'quantum'], roots: [fingerprint(authority.root)] },
    })
  })

  it('FILES-6: the root of a chain in PEM is its last certificate', async () => {
    write('chain.pem', `some text\n${pemOf(chain)}`)
    const { out } = await run('attest', 'roots', 'chain.pem', '--json')
    expect(JSON.parse(out)).toMatchObject([
      { file: 'chain.pem', fingerprint: fingerprint(authority.root), subject: 'CN=Maker One' },
    ])
  })

  it('FILES-6: what is no certificate, and no file, is refused', async () => {
    write('odd.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const odd = await run('attest', 'roots', 'odd.pem')
    expect(odd).toMatchObject({ code: 2, out: '' })
    expect(odd.err).toContain('odd.pem, certificate 1: expected an X.509 certificate')
    expect((await run('attest', 'roots', 'none.pem')).err).toContain('cannot read none.pem')
  })

  it.each([
    ['attestation:\n  roots: none.yaml\n', 'attestation.roots: cannot read'],
    [
      'attestation:\n  roots: roots.yaml\nregistry:\n  attestation_classes: {}\n',
      'attestation.roots: expected no file beside registry.attestation_classes',
    ],
    ['attestation:\n  roots: roots.yaml\n', 'registry.attestation_classes.enclave.roots'],
  ])('FILES-6: a wrong file of roots stops the start (%#)', async (yaml, problem) => {
    write('roots.yaml', 'enclave:\n  kinds: [ai]\n  roots: ["0x12"]\n')
    write('fairlead.yaml', yaml)
    const { code, err } = await run('policy', 'check')
    expect(code).toBe(2)
    expect(err).toContain(problem)
  })
})
