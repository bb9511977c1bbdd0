import { sizeText } from './store-files.ts'
import type { Verification } from './verify-store.ts'

/** A verification in lines. */
export function verificationLines({
  store,
  is_held: isHeld,
  log,
  tables,
  replayed,
  findings,
  problem,
}: Verification): string[] {
  const lines: string[] = []
  if (log !== null) lines.push(logLine(log))
  if (tables !== null) {
    const state = tables.was_clean ? 'closed in order' : 'not closed in order'
    lines.push(`Tables: as after batch ${tables.batch}, ${state}.`)
  }
  for (const { file, offset, text, isDamage } of findings) {
    if (!isDamage) lines.push(`Note: ${file} at byte ${offset}: ${text}.`)
  }
  if (problem !== null) {
    const { file, offset } = problem
    const place = file === null ? '' : `${file}${offset === null ? '' : ` at byte ${offset}`}: `
    const others = findings.filter(({ isDamage }) => isDamage).length - 1
    const more = others > 0 ? [`${others} more findings of damage; --json has all.`] : []
    return [...lines, `Wrong: ${place}${problem.text}.`, ...more]
  }
  if (isHeld) {
    return [
      ...lines,
      'The log is whole as far as it was read. It was not replayed: a server has the store open.',
      `Stop the server to verify ${store}, or verify a backup of it: fairlead backup TO, then fairlead log verify --store TO`,
    ]
  }
  if (log === null)
    return [...lines, 'No log is beside it, and it needs none. Every page is whole.']
  if (replayed === null) return lines
  const { batches, commands } = replayed
  const sum =
    batches === 0
      ? 'The tables have every batch of the log, so there is nothing to replay.'
      : `Replayed ${counted(batches, 'batch', 'batches')} with ${counted(commands, 'command')}: every digest is that of the log.`
  return [...lines, sum]
}

function logLine({ files, bytes, batches, first, last }: NonNullable<Verification['log']>): string {
  const size = `${counted(files, 'file')} of ${sizeText(bytes)} together`
  if (first === null || last === null) return `Log: no batches in ${size}.`
  const [from, to] = [first, last].map(({ at }) => new Date(at).toISOString())
  const range = `${first.batch} to ${last.batch}, from ${from} to ${to}`
  return `Log: ${counted(batches, 'batch', 'batches')} (${range}) in ${size}.`
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
