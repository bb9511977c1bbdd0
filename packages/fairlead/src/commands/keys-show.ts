import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead keys show`: the public half of a key file. */
export const keysShow = command({
  name: 'keys show',
  summary: "Print the public key of a provider's key file.",
  args: [{ name: '<file>', text: 'a file of fairlead keys new' }],
  examples: [['fairlead keys show provider.key', 'The key to give at registration.']],

  async run({ args, isJson, terminal, print }) {
    const { statSync } = await import('node:fs')
    const { publicKeyOf, toHex } = await import('@fairlead/core')
    const { readProviderKey } = await import('@fairlead/client')
    const file = args[0] as string
    const publicKey = toHex(publicKeyOf(readProviderKey(file)))
    print({ public_key: publicKey, file }, publicKey)
    const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
    if (isOpen) {
      const warning = `Others than its owner may use ${file}. Change that: chmod 600 ${file}`
      terminal.note(isJson ? JSON.stringify({ warning }) : warning)
    }
    return EXIT.ok
  },
})
