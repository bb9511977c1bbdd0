import { durationText } from '@fairlead/engine'
import { table } from '../terminal/table.ts'
import type { Lines } from '../terminal/terminal.ts'
import { LIVE_PROVIDERS } from './live-cast.ts'
import type { OpeningFigures } from './live-opening.ts'
import { spaced } from './rules-report.ts'
import type { LiveOutcome, Tally } from './tally.ts'

export interface LiveFigures {
  readonly jobs: number
  readonly took_ms: number
  readonly jobs_per_second: number
  readonly ends: Readonly<Record<string, number>>
  readonly waits_ms: Readonly<Record<string, Spread>>
  readonly providers: Readonly<Record<string, object>>
  readonly requeues: Readonly<Record<string, number>>
  readonly opening: OpeningFigures
  /** What did not end as it should have. */
  readonly wrong: readonly string[]
  readonly explained: { readonly task_id: string; readonly text: string } | null
}

interface Spread {
  readonly jobs: number
  readonly median: number
  readonly p95: number
  readonly longest: number
}

/** What each way back to the queue means. */
const REQUEUE_MEANS: Readonly<Record<string, string>> = {
  ACK_TIMEOUT: 'an offer was not acked in time; charged as a retry',
  LEASE_EXPIRED: 'a lease ran out; charged as a retry',
  PROVIDER_FAIL: 'the worker reported a failure; charged as a retry',
  DECLINED: 'the provider declined; nobody is charged',
  RELEASED: 'a worker gave it back, or came back without it; nobody is charged',
  LEASE_CANCELLED: 'its worker was gone; nobody is charged',
}

export function liveFigures(
  tally: Tally,
  given: Pick<LiveFigures, 'wrong' | 'explained' | 'opening'> & {
    readonly crashes: ReadonlyMap<string, number>
  },
): LiveFigures {
  const all = [...tally.outcomes.values()]
  const first = Math.min(...all.map(({ enqueuedAt }) => enqueuedAt))
  const last = Math.max(...all.map(({ endedAt }) => endedAt ?? first))
  const done = all.filter(({ status }) => status === 'COMPLETED')
  const lastDone = Math.max(first, ...done.map(({ endedAt }) => endedAt ?? first))
  return {
    jobs: all.length,
    took_ms: last - first,
    jobs_per_second: Math.round((10_000 * done.length) / Math.max(1, lastDone - first)) / 10,
    ends: counted(all.map(({ status }) => status)),
    waits_ms: waitsByTier(all),
    providers: Object.fromEntries(
      LIVE_PROVIDERS.map(({ name, manner }) => {
        const counts = tally.providers.get(`provider:${name}`)
        return [name, { manner, ...counts, crashes: given.crashes.get(name) ?? 0 }]
      }),
    ),
    requeues: Object.fromEntries(tally.requeues),
    opening: given.opening,
    wrong: given.wrong,
    explained: given.explained,
  }
}

/** The same for people. */
export function liveReport(figures: LiveFigures, title: (text: string) => string): string[] {
  const ends = Object.entries(figures.ends).map(([status, count]) => `${count} ${status}`)
  const speed = `${figures.jobs_per_second.toFixed(0)} jobs/s`
  const parts: Lines[] = [
    `${figures.jobs} jobs in ${durationText(figures.took_ms)}: ${ends.join(', ')}. While all worked, ${speed}.`,
    wrongText(figures.wrong),
    title('How long jobs waited for their first assignment'),
    waitsTable(figures.waits_ms),
    title('Who did the work'),
    providersTable(figures.providers as Record<string, Record<string, number | string>>),
    title('Ways back to the queue'),
    requeuesTable(figures.requeues),
    title(`An opening: ${figures.opening.people} people, ${figures.opening.seats} seats`),
    openingTable(figures.opening),
  ]
  if (figures.explained !== null) {
    parts.push(title('One job, explained'), figures.explained.text.split('\n'))
  }
  return spaced(parts)
}

function wrongText(wrong: readonly string[]): Lines {
  if (wrong.length === 0) {
    return 'Every one came to the end that it should have, and every output is right.'
  }
  return [`WRONG: ${wrong.length} did not end as they should have.`, ...wrong.slice(0, 10)]
}

function waitsByTier(all: readonly LiveOutcome[]): Record<string, Spread> {
  const tiers = ['PREMIUM', 'PRO', 'FREE']
  return Object.fromEntries(
    tiers.map((tier) => {
      const waits = all
        .filter(({ job, assignedAt }) => job.tier === tier && assignedAt !== null)
        .map(({ assignedAt, enqueuedAt }) => (assignedAt ?? 0) - enqueuedAt)
        .sort((a, b) => a - b)
      return [tier, spreadOf(waits)]
    }),
  )
}

function spreadOf(sorted: readonly number[]): Spread {
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  return {
    jobs: sorted.length,
    median: at(0.5) ?? 0,
    p95: at(0.95) ?? 0,
    longest: sorted.at(-1) ?? 0,
  }
}

function waitsTable(waits: LiveFigures['waits_ms']): string[] {
  const right = (title: string) => ({ title, align: 'right' as const })
  return table(
    [{ title: 'tier' }, right('jobs'), right('median'), right('95 %'), right('longest')],
    Object.entries(waits).map(([tier, { jobs, median, p95, longest }]) => [
      tier,
      String(jobs),
      durationText(median),
      durationText(p95),
      durationText(longest),
    ]),
  )
}

function providersTable(providers: Record<string, Record<string, number | string>>): string[] {
  const right = (title: string) => ({ title, align: 'right' as const })
  const names = ['completed', 'failed', 'declined', 'lost', 'crashes']
  return table(
    [{ title: 'provider' }, { title: 'manner' }, ...names.map(right)],
    Object.entries(providers).map(([name, counts]) => [
      name,
      String(counts['manner']),
      ...names.map((each) => String(counts[each] ?? 0)),
    ]),
  )
}

function requeuesTable(requeues: LiveFigures['requeues']): Lines {
  const rows = Object.entries(requeues).map(([reason, count]) => [
    reason,
    String(count),
    REQUEUE_MEANS[reason] ?? '',
  ])
  if (rows.length === 0) return 'None was needed.'
  return table([{ title: 'reason' }, { title: 'jobs', align: 'right' }, { title: 'meaning' }], rows)
}

function openingTable({ by_place }: OpeningFigures): string[] {
  const right = (title: string) => ({ title, align: 'right' as const })
  return table(
    ['place in line', 'tried', 'got a seat', 'tried after the opening (median)'].map(right),
    by_place.map(({ from, to, tried, booked, median_delay_ms }) => [
      `${from}–${to}`,
      String(tried),
      `${booked} (${Math.round((100 * booked) / Math.max(1, tried))} %)`,
      durationText(median_delay_ms),
    ]),
  )
}

function counted(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
