import { X509Certificate } from 'node:crypto'
import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { expect } from 'vitest'
import { publicKeyOf } from './ed25519.ts'
import { issueCertificate, issueRoot } from './issue-certificate.ts'

const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })
const second = fc.integer({ min: 0, max: 253_402_300_799 }).map((secs) => secs * 1_000)
const text = fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(...'ab Zé0-.') })

test.prop([seed, seed, text, second, second, fc.bigInt({ min: 1n, max: 2n ** 128n })])(
  'ATTEST-3: Node reads an issued certificate as it was asked for',
  (root, leaf, subject, notBefore, notAfter, serial) => {
    const issuer = { subject: 'Root', signedBy: root, notBefore, notAfter }
    const ca = new X509Certificate(issueRoot(issuer))
    const der = issueCertificate({
      ...{ subject, issuer: 'Root', publicKey: publicKeyOf(leaf), signedBy: root },
      ...{ isCa: false, notBefore, notAfter, serial },
    })
    const certificate = new X509Certificate(der)
    expect(certificate.raw.equals(Buffer.from(der))).toBe(true)
    expect([ca.ca, certificate.ca]).toEqual([true, false])
    expect(certificate.checkIssued(ca) && certificate.verify(ca.publicKey)).toBe(true)
    expect(BigInt(`0x${certificate.serialNumber}`)).toBe(serial)
    expect(Date.parse(certificate.validFrom)).toBe(notBefore)
    expect(Date.parse(certificate.validTo)).toBe(notAfter)
    expect(certificate.toLegacyObject().subject.CN).toBe(subject)
  },
)
