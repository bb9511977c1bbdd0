import type { Stats, VerdictRecord } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { wrapped } from '../terminal/wrapped.ts'

/** What one look at a server gives. */
export interface Seen extends Stats {
  readonly verdict: VerdictRecord
}

interface Look {
  readonly columns: number
  readonly rows: number
  readonly colors: Terminal['colors']
  readonly url: string
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/** One look at a server, no larger than the screen. `history` is of completions a second. */
export function topText(stats: Seen, history: readonly number[], look: Look): string[] {
  const { colors, columns, rows, url } = look
  const { bold, dim } = colors
  const lines = [
    `${bold('fairlead')} ${stats.version}  ${url}  up ${durationText(stats.at - stats.started_at)}`,
    '',
    ...verdictLines(stats, look),
    '',
    ratesLine(stats),
    ...(history.length === 0 ? [] : [dim(`completions  ${sparkline(history, columns - 14)}`)]),
    totalsLine(stats),
    fairnessLine(stats),
    '',
    ...queueLines(stats, colors),
    '',
    ...providerLines(stats, colors, rows),
  ]
  return lines.slice(0, Math.max(10, rows - 1))
}

function verdictLines({ verdict }: Seen, { colors, columns }: Look): string[] {
  const { green, yellow, red } = colors
  const color = { fine: green, held: yellow, failing: red, unknown: yellow }[verdict.status]
  return wrapped(verdict.text, columns)
    .split('\n')
    .map((line) => color(line))
}

function ratesLine({ per_second: rate, leases, workers }: Stats): string {
  const figures = [
    `enqueued ${rate.enqueued.toFixed(1)}/s`,
    `assigned ${rate.assigned.toFixed(1)}/s`,
    `completed ${rate.completed.toFixed(1)}/s`,
    `${leases} leases`,
    `${workers} worker${workers === 1 ? '' : 's'}`,
  ]
  return figures.join('   ')
}

function totalsLine({ totals }: Stats): string {
  const parts = Object.entries(totals).map(
    ([name, count]) => `${name} ${count.toLocaleString('en')}`,
  )
  return `since start  ${parts.join('  ')}`
}

function fairnessLine({ fairness, connections }: Stats): string {
  const shown = fairness === null ? 'not known yet' : fairness.toFixed(3)
  return `fairness ${shown}   sockets ${connections.websocket}   polls ${connections.polls}`
}

function queueLines({ queues }: Stats, { bold, yellow }: Terminal['colors']): string[] {
  const rows = queues.map((queue) => {
    const { kind, ready, backoff, budget, no_provider, paused, not_open, pacing, oldest_wait_ms } =
      queue
    const counts = [ready, backoff, budget, no_provider, paused, not_open + pacing]
    const oldest = oldest_wait_ms === null ? '' : durationText(oldest_wait_ms)
    return [kind, ...[counts.reduce((sum, n) => sum + n, 0), ...counts].map(String), oldest]
  })
  const held = ['ready', 'backoff', 'budget', 'no provider', 'paused', 'too early']
  const titles = ['queue', 'waiting', ...held, 'oldest wait']
  const columns = titles.map((title, i) =>
    i === 0 ? { title } : { title, align: 'right' as const },
  )
  const [head = '', ...rest] = table(columns, rows)
  return [
    bold(head),
    // What nobody can take is what an operator has to see.
    ...rest.map((line, i) => ((queues[i - 1]?.no_provider ?? 0) > 0 ? yellow(line) : line)),
  ]
}

function providerLines(
  stats: Stats,
  { bold, dim, red }: Terminal['colors'],
  rows: number,
): string[] {
  const counts = Object.entries(stats.providers)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`)
  const title = `providers: ${counts.join(', ') || 'none'}`
  if (stats.busiest.length === 0) return [title]
  const shown = stats.busiest.slice(0, Math.max(3, rows - 20))
  const cells = shown.map(({ provider_id, leases, lease_cap, health }) => [
    provider_id,
    `${leases}/${lease_cap}`,
    gauge(leases, lease_cap),
    `${(health / 10).toFixed(0)} %`,
  ])
  const columns = [
    { title: 'provider' },
    { title: 'leases', align: 'right' as const },
    { title: 'load' },
    { title: 'health', align: 'right' as const },
  ]
  const [head = '', ...rest] = table(columns, cells)
  const body = rest.map((line, i) => ((shown[i - 1]?.health ?? 1_000) < 600 ? red(line) : line))
  return [title, bold(head), ...body.map((l, i) => (i === 0 ? dim(l) : l))]
}

function gauge(value: number, of: number): string {
  const width = 20
  const filled = of === 0 ? 0 : Math.round((width * Math.min(value, of)) / of)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
}

function sparkline(history: readonly number[], width: number): string {
  const shown = history.slice(-Math.max(1, width))
  const most = Math.max(1, ...shown)
  const bar = (n: number) => BARS[Math.min(BARS.length - 1, Math.floor((n / most) * BARS.length))]
  return shown.map(bar).join('')
}
