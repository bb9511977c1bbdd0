import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly provider: string
  readonly class?: string
  readonly chain?: readonly string[]
  readonly proverKey?: string
}

/** `fairlead attest`: certificates vouch for the key of a provider. */
export const attest = command<Flags>({
  name: 'attest',
  summary: 'Attest a provider: show the server the certificates of its key.',
  details:
    'The server gives a challenge, and the key of the provider signs it. The leaf certificate has to be for that key.\n' +
    'A worker with --attest does this by itself, and again before the certificates end.',
  options: [
    { flags: '--provider <id>', text: 'whom to attest', default: 'provider:local' },
    { flags: '--class <name>', text: 'a class of registry.attestation_classes' },
    {
      flags: '--chain <file>',
      text: 'certificates in PEM or DER, leaf first and root last; can be repeated',
      many: true,
    },
    {
      flags: '--prover-key <file>',
      text: 'file of fairlead keys new (FAIRLEAD_PROVIDER_KEY has its line)',
    },
  ],
  needs: 'server',
  examples: [
    [
      'fairlead attest --provider provider:gpu-1 --class enclave --chain chain.pem --prover-key gpu-1.key',
      'One file has the whole chain.',
    ],
  ],

  async run({ flags, client, print }) {
    const { attestProvider, proverKey } = await import('@fairlead/client')
    const { readChain } = await import('../attest/read-certificates.ts')
    const { misuse } = await import('../flags/flags.ts')
    const { provider, class: className, chain } = flags
    if (className === undefined) throw misuse('--class: expected the name of a class of hardware')
    if (chain === undefined) throw misuse('--chain: expected a file with certificates')
    const attestation = await attestProvider(await client(), {
      providerId: provider,
      secretKey: proverKey(flags.proverKey),
      class: className,
      chain: readChain(chain),
    })
    const end = new Date(attestation.not_after).toISOString()
    print({ provider_id: provider, attestation }, [
      `${provider} is attested as ${attestation.class} until ${end}.`,
    ])
    return EXIT.ok
  },
})
