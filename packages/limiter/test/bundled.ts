import { rolldown } from 'rolldown'

export interface BundleOptions {
  readonly platform: 'node' | 'neutral'
  readonly format: 'esm' | 'iife'
  /** Packages that stay outside. */
  readonly external?: string[]
  /** With all that the application does not use. */
  readonly isWhole?: boolean
  /** A package in the place of another. */
  readonly alias?: Record<string, string>
}

/** One file with everything that an application imports, as a bundler makes it from the built packages. */
export async function bundled(
  application: string,
  { platform, format, external = [], isWhole = false, alias = {} }: BundleOptions,
): Promise<string> {
  const file = `${import.meta.dirname}/application.mjs`
  const bundle = await rolldown({
    input: file,
    platform,
    external,
    treeshake: !isWhole,
    resolve: { alias },
    logLevel: 'silent',
    // Not on disk, and yet its imports are found as those of a file of this folder.
    plugins: [
      {
        name: 'application',
        resolveId: (id) => (id === file ? id : null),
        load: (id) => (id === file ? application : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format, codeSplitting: false })
  await bundle.close()
  if (output.length !== 1) throw new Error(`expected one file, got ${output.length}`)
  return output[0].code
}
