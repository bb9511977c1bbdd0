import type { Command as Program } from 'commander'
import { COMMANDS } from './commands/index.ts'
import { EXIT, EXIT_MEANS } from './exit-codes.ts'
import { buildProgram } from './program.ts'
import { flowed, wrapped } from './terminal/wrapped.ts'

/** The reference page of the command line, from the tree that parses it. */
export function cliReference(): string {
  const program = buildProgram(async () => {})
  const sections = COMMANDS.map((spec) => section(program, spec.name))
  return [
    '# The command line',
    '<!-- Made by `npm run reference` from the code; do not edit. -->',
    'Settings come from `fairlead.yaml`, from the environment and from flags; a flag goes over the environment, and that over the file. See [settings](settings.md) for their names. `--json` prints JSON instead of text: one document, or a line for each job or event where a command goes on; a refusal is a line `{"error": {code, message, details, retryable}}` on standard error, and a warning a line `{"warning": text}`. A command that takes a `task_id` also takes its first 8 or more digits, with or without `0x`, where they stand for one job. Colours are used on a terminal only, and not with `NO_COLOR`.',
    '## Exit codes',
    exitTable(),
    '## Commands',
    commandList(program),
    ...sections,
  ]
    .join('\n\n')
    .concat('\n')
}

function exitTable(): string {
  const rows = Object.entries(EXIT).map(
    ([name, code]) => `| ${code} | ${EXIT_MEANS[name as keyof typeof EXIT]} |`,
  )
  return ['| code | meaning |', '| --- | --- |', ...rows].join('\n')
}

function commandList(program: Program): string {
  return COMMANDS.map(({ name, summary }) => {
    const anchor = `fairlead-${name.replaceAll(' ', '-')}`
    return `- [\`fairlead ${name}\`](#${anchor}): ${find(program, name) === null ? '' : summary}`
  }).join('\n')
}

function section(program: Program, name: string): string {
  const spec = COMMANDS.find((one) => one.name === name)
  const own = find(program, name)
  if (spec === undefined || own === null) throw new Error(`there is no command ${name}`)
  const parts = [
    `## fairlead ${name}`,
    spec.summary,
    `\`\`\`\nfairlead ${name} ${own.usage()}\n\`\`\``,
    ...(spec.details === undefined
      ? []
      : [`\`\`\`text\n${wrapped(flowed(spec.details), 100)}\n\`\`\``]),
    ...argumentTable(own),
    optionTable(own),
    ...spec.examples.map(([line, text]) => `${text}\n\n\`\`\`sh\n${line}\n\`\`\``),
  ]
  return parts.join('\n\n')
}

function argumentTable(own: Program): string[] {
  if (own.registeredArguments.length === 0) return []
  const rows = own.registeredArguments.map(
    (argument) => `| \`${argument.name()}\` | ${cell(argument.description)} |`,
  )
  return [['| argument | |', '| --- | --- |', ...rows].join('\n')]
}

function optionTable(own: Program): string {
  const rows = own.options.map(({ flags, description, defaultValue }) => {
    const value = defaultValue === undefined ? '' : ` (default: \`${String(defaultValue)}\`)`
    return `| \`${flags}\` | ${cell(description)}${value} |`
  })
  return ['| option | |', '| --- | --- |', ...rows].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

function find(program: Program, name: string): Program | null {
  return name.split(' ').reduce<Program | null>((at, word) => {
    return at?.commands.find((command) => command.name() === word) ?? null
  }, program)
}
