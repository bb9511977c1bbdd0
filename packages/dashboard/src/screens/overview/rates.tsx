import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Chart } from '../../parts/chart/chart.tsx'
import { Figures, Panel } from '../../parts/panel.tsx'
import { countText, rateText } from '../../text/numbers.ts'

/** How much comes, waits, runs and goes. */
export function Rates(): JSX.Element {
  const stats = useLive('stats.get', {}, { everyMs: 900 })
  const history = useLive('stats.history', {}, { everyMs: 2_000 })
  return (
    <div class="grid third">
      <Panel title="Now">
        <Answer of={stats}>
          {({ queues, leases, per_second: rate, totals, workers, fairness }) => {
            const waiting = queues.map(
              ({ ready, backoff, budget, no_provider, paused, not_open, pacing }) =>
                ready + backoff + budget + no_provider + paused + not_open + pacing,
            )
            return (
              <Figures
                of={[
                  ['Waiting', countText(waiting.reduce((sum, n) => sum + n, 0))],
                  ['Running', countText(leases)],
                  ['Workers', countText(workers)],
                  ['Enqueued', rateText(rate.enqueued), '/s'],
                  ['Completed', rateText(rate.completed), '/s'],
                  ['Fairness', fairness === null ? '–' : fairness.toFixed(3), 'of 1'],
                  ['All completed', countText(totals.completed)],
                  ['All failed', countText(totals.failed)],
                  ['All sent back', countText(totals.requeued)],
                ]}
              />
            )
          }}
        </Answer>
      </Panel>
      <Panel title="Jobs a second, last 15 min">
        <Answer of={history}>
          {({ at, step_ms, enqueued, completed, failed }) => {
            const times = enqueued.map((_, i) => at - (enqueued.length - 1 - i) * step_ms)
            const perSecond = (counts: readonly number[]): number[] =>
              counts.map((count) => (1_000 * count) / step_ms)
            const last = enqueued.length - 1
            const says = `Jobs a second over time. Now ${rateText(perSecond(enqueued)[last] ?? 0)} enqueued, ${rateText(perSecond(completed)[last] ?? 0)} completed, ${rateText(perSecond(failed)[last] ?? 0)} failed.`
            return (
              <Chart
                label={says}
                times={times}
                series={[
                  { name: 'enqueued', color: '--line-strong', values: perSecond(enqueued) },
                  { name: 'completed', color: '--accent', values: perSecond(completed) },
                  { name: 'failed', color: '--bad', values: perSecond(failed) },
                ]}
              />
            )
          }}
        </Answer>
      </Panel>
      <Panel title="Jobs, last 15 min">
        <Answer of={history}>
          {({ at, step_ms, waiting, running }) => {
            const times = waiting.map((_, i) => at - (waiting.length - 1 - i) * step_ms)
            const says = `Jobs over time. Now ${waiting.at(-1) ?? 0} wait and ${running.at(-1) ?? 0} run.`
            return (
              <Chart
                label={says}
                times={times}
                series={[
                  { name: 'waiting', color: '--warn', values: waiting },
                  { name: 'running', color: '--accent', values: running },
                ]}
              />
            )
          }}
        </Answer>
      </Panel>
    </div>
  )
}
