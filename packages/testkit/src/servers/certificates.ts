import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aptInstall } from './apt-install.ts'

/** A certificate with its key, as files in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Certificates for a test, made by `openssl`: no key is ever part of the repository. */
export class CertificateMaker {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    if (spawnSync('openssl', ['version']).status !== 0) aptInstall('openssl')
  }

  /** One that vouches for itself and for others. */
  authority(name: string): Certificate {
    const files = this.#files(name)
    run([
      ...REQUEST,
      '-x509',
      '-days',
      '2',
      ...subject(name),
      '-keyout',
      files.key,
      '-out',
      files.cert,
    ])
    return files
  }

  /** One for localhost and 127.0.0.1 that an authority vouches for. */
  signed(name: string, by: Certificate): Certificate {
    const files = this.#files(name)
    const [request, names] = [join(this.#folder, `${name}.csr`), join(this.#folder, `${name}.ext`)]
    writeFileSync(names, 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    run([...REQUEST, ...subject(name), '-keyout', files.key, '-out', request])
    const from = ['-in', request, '-CA', by.cert, '-CAkey', by.key, '-CAcreateserial']
    run(['x509', '-req', ...from, '-days', '2', '-extfile', names, '-out', files.cert])
    return files
  }

  #files(name: string): Certificate {
    return { cert: join(this.#folder, `${name}.pem`), key: join(this.#folder, `${name}.key`) }
  }
}

const REQUEST = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

function subject(name: string): readonly string[] {
  return ['-subj', `/CN=${name}`]
}

function run(args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('openssl', args, { encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`openssl ${args[0]}: ${stderr ?? String(error)}; install openssl`)
}
