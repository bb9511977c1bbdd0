import { X509Certificate } from 'node:crypto'
import { misuse } from '../flags/flags.ts'
import { readFile } from '../flags/read-input.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates in a file, in their order: any number of them in PEM, or one in DER. */
export function readCertificates(file: string): readonly X509Certificate[] {
  const bytes = readFile(file)
  const blocks = Buffer.from(bytes).toString('latin1').match(PEM)
  return (blocks ?? [bytes]).map((one, i) => {
    try {
      return new X509Certificate(one)
    } catch {
      const which = blocks === null ? file : `${file}, certificate ${i + 1}`
      throw misuse(`${which}: expected an X.509 certificate in PEM or DER`)
    }
  })
}

/** A chain from one file or several: leaf first and root last. */
export function readChain(files: readonly string[]): readonly Uint8Array[] {
  return files.flatMap((file) => readCertificates(file).map(({ raw }) => new Uint8Array(raw)))
}
