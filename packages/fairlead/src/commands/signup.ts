import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly providers?: string
  readonly provider: string
  readonly concurrency: string
  readonly workerId?: string
  readonly grace: string
}

/** `fairlead signup`: the executor of registrations. */
export const signup = command<Flags>({
  name: 'signup',
  summary: 'Serve registrations: book at the sites that a file describes.',
  details: [
    'For each registration that is due it makes one attempt at its booking site, and tells of it in a line.',
    'The file is read again when it changes; a wrong one is told and changes nothing. Secrets come from the',
    'environment of this process, or from files. How to describe a site is in docs/sessions.md.',
    'On SIGTERM or Ctrl-C it takes no more, waits for the attempts under way, and gives back the rest.',
  ].join('\n'),
  options: [
    { flags: '--providers <file>', text: 'YAML file with the booking sites (signup.providers)' },
    { flags: '--provider <id>', text: 'whom to serve', default: 'provider:signup' },
    { flags: '--concurrency <n>', text: 'attempts at once', default: '16' },
    { flags: '--worker-id <id>', text: 'name of this process among those of the provider' },
    { flags: '--grace <time>', text: 'how long attempts may go on after SIGTERM', default: '25s' },
  ],
  needs: 'server',
  examples: [
    ['fairlead signup --providers providers.yaml', 'Serve all sites of the file.'],
    [
      'FAIRLEAD_SIGNUP_PROVIDERS=/etc/fairlead/providers.yaml fairlead signup --json',
      'The same, with a line of JSON for each attempt.',
    ],
  ],

  async run(call) {
    const { serveSignups } = await import('../signup/serve-signups.ts')
    const { duration, misuse, wholeNumber } = await import('../flags/flags.ts')
    const { flags, client, config, terminal, isJson } = call
    const { settings } = await config({
      'signup.providers': { flag: '--providers', raw: flags.providers },
    })
    const path = settings.signup.providers
    if (path === null) {
      throw misuse(
        '--providers: expected a file with the booking sites, as in --providers providers.yaml',
      )
    }
    await serveSignups({
      client: await client(),
      terminal,
      isJson,
      path,
      providerId: flags.provider,
      concurrency: wholeNumber('--concurrency', flags.concurrency, { min: 1, max: 100_000 }),
      workerId: flags.workerId,
      graceMs: duration('--grace', flags.grace),
    })
    return EXIT.ok
  },
})
