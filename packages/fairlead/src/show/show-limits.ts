import type { LimitDefinition, LimitRecord } from '@fairlead/protocol'
import { table } from '../terminal/table.ts'

/** Limits as a table. */
export function limitsTable(limits: readonly LimitRecord[]): string[] {
  const rows = limits.map((record) => [
    record.definition.key,
    record.definition.kind,
    allowsText(record.definition),
    usedText(record),
    stateText(record),
  ])
  return table(
    [
      { title: 'limit' },
      { title: 'kind' },
      { title: 'allows' },
      { title: 'held', align: 'right' },
      { title: 'state' },
    ],
    rows,
  )
}

/** One limit, a line a fact. */
export function limitText(record: LimitRecord): string[] {
  const { definition } = record
  const facts: [string, string][] = [
    ['kind', definition.kind],
    ['allows', allowsText(definition)],
    [definition.kind === 'bucket' ? 'left' : 'held', usedText(record)],
    ['state', stateText(record)],
    ['overage', definition.overage ?? 'debt'],
  ]
  if (definition.callers) facts.push(['callers', definition.callers.join(', ')])
  if (definition.unit) facts.push(['unit', definition.unit])
  if (definition.description) facts.push(['description', definition.description])
  const width = Math.max(...facts.map(([name]) => name.length))
  return [definition.key, ...facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`)]
}

function allowsText(definition: LimitDefinition): string {
  switch (definition.kind) {
    case 'rolling':
      return `${definition.capacity} in any ${definition.window_seconds} s`
    case 'fixed':
      return `${definition.capacity} every ${definition.window_seconds} s`
    case 'concurrency':
      return `${definition.capacity} at once, each for ${definition.timeout_seconds} s at most`
    case 'bucket':
      return `${definition.rate} a second, ${definition.burst} at once`
  }
}

/** What is held; of a bucket what is left in it. */
function usedText({ held, level_micro: level }: LimitRecord): string {
  if (level === null) return String(held)
  const tokens = typeof level === 'number' ? level / 1_000_000 : Number(level) / 1_000_000
  return `${Number(tokens.toFixed(3))} left`
}

function stateText({ state, pending_decrease_to: to }: LimitRecord): string {
  return to === null ? state : `${state} to ${to}`
}
