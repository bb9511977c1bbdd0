import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead policy check`: what would a server say to this file? */
export const policyCheck = command({
  name: 'policy check',
  summary: 'Check the configuration without a server; all problems at once.',
  details:
    'Reads fairlead.yaml or the file of --config, the environment and --set, as `serve` does, and the file\n' +
    'of the booking sites (signup.providers) without its secrets.',
  needs: 'file',
  examples: [
    ['fairlead policy check', 'Check what is here.'],
    ['fairlead policy check --config next.yaml', 'Check another file before it is used.'],
  ],

  async run({ config, print }) {
    const { file, origins, settings } = await config()
    const { providers } = settings.signup
    await refuseWrongProviders(providers)
    const from = file ?? 'no file'
    const sites = providers === null ? [] : [`${providers}: the booking sites, no problems.`]
    print(
      { ok: true, file, preset: settings.preset, settings: Object.fromEntries(origins), providers },
      [
        `${from}: ${origins.size} ${origins.size === 1 ? 'setting' : 'settings'} over the preset ${settings.preset}, no problems.`,
        ...sites,
      ],
    )
    return EXIT.ok
  },
})

async function refuseWrongProviders(path: string | null): Promise<void> {
  if (path === null) return
  const [{ checkProviders }, { problemList }, { LinesError }, { escaped }] = await Promise.all([
    import('@fairlead/signup'),
    import('@fairlead/core/internal'),
    import('../terminal/lines-error.ts'),
    import('../terminal/escaped.ts'),
  ])
  const problems = checkProviders(path)
  if (problems.length === 0) return
  throw new LinesError(
    'InvalidParams',
    `the booking sites have ${problemList(problems.map(escaped))}`,
    {
      field: 'signup.providers',
      problems,
    },
  )
}
