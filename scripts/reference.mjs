// Writes docs/reference/ from the tables in the code; with --check it only says whether the pages
// are what the code would give.
import './setup.mjs'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const core = { ...(await import('@fairlead/core')), ...(await import('@fairlead/core/internal')) }
const protocol = await import('@fairlead/protocol')
const { cliReference } = await import('../packages/fairlead/dist/cli-reference.js')
const { SETTINGS } = await import('../packages/fairlead/dist/config/settings.js')
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'docs', 'reference')

const PAGES = {
  'cli.md': cliReference(),
  'settings.md': settings(),
  'errors.md': errors(),
  'states.md': states(),
  'methods.md': page('Methods', protocol.methodsReference()),
}

if (process.argv.includes('--check')) {
  const stale = Object.entries(PAGES)
    .filter(
      ([name, text]) =>
        !existsSync(join(folder, name)) || readFileSync(join(folder, name), 'utf8') !== text,
    )
    .map(([name]) => `docs/reference/${name}`)
  if (stale.length > 0) {
    console.error(`out of date: ${stale.join(', ')}; run: npm run reference`)
    process.exitCode = 1
  }
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(PAGES)) writeFileSync(join(folder, name), text)
}

function settings() {
  const presets = Object.entries(core.PRESETS)
    .filter(([, written]) => Object.keys(written).length > 0)
    .map(
      ([name, written]) =>
        `### \`${name}\`\n\n\`\`\`json\n${JSON.stringify(written, null, 2)}\n\`\`\``,
    )
  return page('Settings', [
    'Every setting, by the path under which it is written in `fairlead.yaml`: `queue.batch_size` is `batch_size` under `queue:`. In the environment it is `FAIRLEAD_QUEUE_BATCH_SIZE`, on the command line `--set queue.batch_size=64`. A flag goes over the environment, and that over the file; all problems are told at once, each with its place.',
    'The file is `fairlead.yaml` in the current folder, or what `--config` or `FAIRLEAD_CONFIG` names. Relative paths in it are meant from its own folder. Lists and the like are written in the environment as in YAML: `[eu-1, eu-2]`, `null`. `FAIRLEAD_URL` and `FAIRLEAD_TOKEN` are short for `client.url` and `client.token`.',
    '## The installation',
    settingsTable(core.settingPaths(SETTINGS)),
    '## The policy',
    'What the dispatcher decides by. The defaults are those of the preset `fund`.',
    settingsTable(core.policySettings()),
    '## Presets',
    'A preset changes some defaults; what is written in the file goes over it. `queue` is the one that is used unless another is asked for.',
    ...presets,
  ])
}

function settingsTable(settings) {
  const rows = settings.map(({ path, field }) => {
    const value = JSON.stringify(field.show(field.default)).replaceAll(',', ', ')
    return [`\`${path}\``, `\`${value}\``, field.expected, field.purpose]
  })
  return table(['setting', 'default', 'accepts', 'purpose'], rows)
}

function errors() {
  const rows = Object.entries(core.ERRORS).map(([code, { text, retryable }]) => [
    `\`${code}\``,
    String(protocol.ERROR_NUMBERS[code]),
    text,
    retryable ? 'yes' : 'no',
  ])
  return page('Errors', [
    'Every code that a `FairleadError` can carry. *Retryable* means that the same call may succeed later without a change by the caller.',
    table(['code', 'number on the wire', 'meaning', 'retryable'], rows),
  ])
}

function states() {
  const moveTo = ({ to, last }) => (last === undefined ? to : `${to}, or ${last} as the last`)
  const jobs = core.JOB_STATUSES.flatMap((from) =>
    Object.entries(core.JOB_TABLE[from]).map(([on, move]) => [from, on, moveTo(move)]),
  )
  const leases = core.LEASE_STATUSES.flatMap((from) =>
    Object.entries(core.LEASE_TABLE[from]).map(([on, to]) => [from, on, to]),
  )
  const providers = core.PROVIDER_STATUSES.flatMap((from) => {
    const moves = core.PROVIDER_STATUSES.map((word) => [from, word, statusAfter(from, word)])
    const taken = moves.filter(([, , to]) => to !== null)
    return taken.length === 0 ? [[from, 'none', from]] : taken
  })
  return page('States', [
    'Every move that a job, a lease or a provider can make. What is not listed is refused with `InvalidState` and changes nothing.',
    '## Jobs',
    '"As the last" is what happens instead when retries are used up, the error is permanent, or it was the sixteenth decline.',
    table(['from', 'on', 'to'], jobs),
    '## Leases',
    table(['from', 'on', 'to'], leases),
    '## Providers',
    'An operator may set these. A pause waits behind jail and suspension.',
    table(['from', 'word', 'to'], providers),
  ])
}

/** Null if the word is refused. */
function statusAfter(from, word) {
  try {
    return core.statusOf(core.setStanding(core.standingOf(from), word), 0)
  } catch {
    return null
  }
}

function page(title, parts) {
  const note = '<!-- Made by `npm run reference` from the code; do not edit. -->'
  return `${[`# ${title}`, note, ...parts].join('\n\n')}\n`
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
