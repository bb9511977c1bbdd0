import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead keys new`: the key with which a provider signs its proofs. */
export const keysNew = command<{ out: string }>({
  name: 'keys new',
  summary: "Make a provider's Ed25519 key, and print its public key.",
  details:
    'The file is one line: ed25519 and the secret seed as 64 hex digits. Only its owner may read it, and a file that is there\n' +
    'is never overwritten. The secret is not printed. Keep a copy of the file: nothing can make it again.\n' +
    'Give the public key when the provider registers.',
  options: [
    {
      flags: '--out <file>',
      text: 'the file to make; nothing may be there yet',
      default: 'provider.key',
    },
  ],
  examples: [
    ['fairlead keys new', 'Into provider.key in this folder.'],
    ['fairlead keys new --out /etc/worker/gpu-1.key --json', 'For a script: {public_key, file}.'],
  ],

  async run({ flags, print }) {
    const { makeProviderKey } = await import('../keys/make-provider-key.ts')
    const publicKey = makeProviderKey(flags.out)
    print({ public_key: publicKey, file: flags.out }, [
      publicKey,
      `The secret is in ${flags.out}, which only you may read.`,
    ])
    return EXIT.ok
  },
})
