import type { X509Certificate } from 'node:crypto'
import { stringify } from 'yaml'
import { readCertificates } from './read-certificates.ts'

/** A root as `attest roots` tells of it. */
export interface PinnedRoot {
  readonly file: string
  readonly fingerprint: string
  readonly subject: string
  readonly not_after: string
}

/** The roots in files. The root of a chain is its last certificate, and a file of several is a chain. */
export function pinnedRoots(files: readonly string[]): readonly PinnedRoot[] {
  return files.map((file) => {
    const root = readCertificates(file).at(-1) as X509Certificate
    return {
      file,
      fingerprint: `0x${root.fingerprint256.replaceAll(':', '').toLowerCase()}`,
      subject: root.subject.replaceAll('\n', ', '),
      not_after: new Date(root.validTo).toISOString(),
    }
  })
}

/** A file for `attestation.roots`: one class with its kinds and roots. */
export function rootsFile(
  roots: readonly PinnedRoot[],
  { className, kinds }: { readonly className: string; readonly kinds: readonly string[] },
): string[] {
  const names = roots.map(({ fingerprint, subject, not_after }) => {
    return `# ${fingerprint.slice(0, 18)}… is ${subject}, until ${not_after}`
  })
  const fingerprints = roots.map(({ fingerprint }) => fingerprint)
  const text = stringify({ [className]: { kinds, roots: fingerprints } }, { lineWidth: 0 })
  return [...names, ...text.trimEnd().split('\n')]
}
