import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead attest roots`: pins the roots of a class of hardware. */
export const attestRoots = command<{ class: string; kind?: readonly string[] }>({
  name: 'attest roots',
  summary: 'Print the fingerprints of root certificates, as a server pins them.',
  details:
    'The output is a file for the setting attestation.roots, or a part of the policy under registry.attestation_classes.\n' +
    'The last certificate of a file is the root. Look at the names: a pinned root vouches for any key.',
  args: [{ name: '<files...>', text: 'certificates in PEM or DER' }],
  options: [
    { flags: '--class <name>', text: 'the class of hardware', default: 'hardware' },
    { flags: '--kind <kind>', text: 'ai or quantum; can be repeated (ai)', many: true },
  ],
  examples: [
    [
      'fairlead attest roots maker-root.pem --class enclave --kind ai > roots.yaml',
      'A file for attestation.roots.',
    ],
    [
      'fairlead attest roots chain.pem --json',
      'The fingerprint, the name and the end of the root.',
    ],
  ],

  async run({ args, flags, print }) {
    const { KIND_NAMES } = await import('@fairlead/core')
    const { oneOfWords } = await import('../flags/flags.ts')
    const { pinnedRoots, rootsFile } = await import('../attest/pinned-roots.ts')
    const kinds = (flags.kind ?? ['ai']).map((kind) => oneOfWords('--kind', kind, KIND_NAMES))
    const roots = pinnedRoots(args)
    print(roots, rootsFile(roots, { className: flags.class, kinds }))
    return EXIT.ok
  },
})
