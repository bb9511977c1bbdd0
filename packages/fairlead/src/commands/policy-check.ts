import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead policy check`: what would a server say to this file? */
export const policyCheck = command({
  name: 'policy check',
  summary: 'Check the configuration without a server; all problems at once.',
  details:
    'Reads fairlead.yaml or the file of --config, the environment and --set, as `serve` does.',
  needs: 'file',
  examples: [
    ['fairlead policy check', 'Check what is here.'],
    ['fairlead policy check --config next.yaml', 'Check another file before it is used.'],
  ],

  async run({ config, print }) {
    const { file, origins, settings } = await config()
    const from = file ?? 'no file'
    print(
      { ok: true, file, preset: settings.preset, settings: Object.fromEntries(origins) },
      `${from}: ${origins.size} settings over the preset ${settings.preset}, no problems.`,
    )
    return EXIT.ok
  },
})
