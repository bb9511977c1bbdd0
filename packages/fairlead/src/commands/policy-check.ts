import { command } from '../command.ts'
import type { Config } from '../config/load-config.ts'
import type { Finding } from '../doctor/check.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead policy check`: what would a server say to this file? */
export const policyCheck = command({
  name: 'policy check',
  summary: 'Check the configuration without a server; all problems at once.',
  details:
    'Reads fairlead.yaml or the file of --config, the environment and --set, as `serve` does, and the file\n' +
    'of the booking sites (signup.providers) and the webhooks without their secrets. Names in the URLs of\n' +
    'webhooks are looked up.',
  needs: 'file',
  examples: [
    ['fairlead policy check', 'Check what is here.'],
    ['fairlead policy check --config next.yaml', 'Check another file before it is used.'],
  ],

  async run({ config, print, warn }) {
    const loaded = await config()
    const { file, origins, settings } = loaded
    const { providers } = settings.signup
    await refuseWrongProviders(providers)
    for (const { text, advice } of await hookWarnings(loaded)) warn(`${text} ${advice}`)
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

/** Refuses webhooks that could not deliver; gives what is only unwise. */
async function hookWarnings(config: Config): Promise<readonly Finding[]> {
  const [{ checkHooksWithoutSecrets }, { problemList }, { LinesError }, { escaped }] =
    await Promise.all([
      import('../doctor/check-hooks.ts'),
      import('@fairlead/core/internal'),
      import('../terminal/lines-error.ts'),
      import('../terminal/escaped.ts'),
    ])
  const findings = await checkHooksWithoutSecrets(config)
  const failed = findings.filter(({ status }) => status === 'fail')
  if (failed.length === 0) return findings
  // A finding is a sentence, or a list below its count.
  const problems = failed.flatMap(({ text, advice }) => {
    const listed = text.split('\n- ').slice(1)
    return listed.length > 0 ? listed : [`${text} ${advice}`]
  })
  const list = problemList(problems.map(escaped))
  throw new LinesError('InvalidParams', `the webhooks have ${list}`, { field: 'hooks', problems })
}

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
