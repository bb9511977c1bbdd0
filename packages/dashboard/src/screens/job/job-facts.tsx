import type { JobRecord } from '@fairlead/client'
import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { useMarket } from '../../data/market.ts'
import { termText } from '../../parts/filter/filter.ts'
import { CallerLink, Copyable, JobLink, ProviderLink } from '../../parts/id.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { countText, plural } from '../../text/numbers.ts'

/** What was asked, by whom, and with which options. */
export function JobFacts({ job }: { readonly job: JobRecord }): JSX.Element {
  const isMarket = useMarket()
  const { request, timestamps, retries, declines, units } = job
  const options = request.options ?? {}
  const at = (secs: number | null): JSX.Element | null =>
    secs === null ? null : <Time at={secs * 1_000} />
  const { completed, failed, expired, canceled } = timestamps
  return (
    <Panel title="Facts">
      <Facts
        of={[
          ['Enqueued', at(timestamps.enqueued)],
          ['Started', at(timestamps.started)],
          ['Ended', at(completed ?? failed ?? expired ?? canceled)],
          ['Not before', job.not_before === null ? null : <Time at={job.not_before} />],
          ['Caller', <CallerLink key="c" id={request.caller} />],
          ['Tier', request.tier],
          [
            'Provider',
            job.provider_id === null ? 'none yet' : <ProviderLink id={job.provider_id} />,
          ],
          ['Failures', `${retries}${declines === 0 ? '' : `, and ${plural(declines, 'decline')}`}`],
          ['Units', `${countText(units)} estimated`],
          ['Fee at most', isMarket ? countText(request.max_fee_u64) : null],
          ['Regions', request.regions?.join(', ')],
          [
            'Time to live',
            request.ttl_abs_secs === null ? null : durationText(request.ttl_abs_secs * 1_000),
          ],
          ['Attempts at most', options.attempts],
          ['Timeout', options.timeout_ms === undefined ? null : durationText(options.timeout_ms)],
          ['Priority', options.priority],
          [
            'Tags',
            options.tags?.map((tag) => (
              <>
                <a key={tag} href={hrefOf('jobs', [], { filter: termText('tag', tag) })}>
                  {tag}
                </a>{' '}
              </>
            )),
          ],
          ['Dedupe key', options.dedupe_key],
          ['Waits for', options.depends_on?.map((id) => <JobLink key={id} id={id} />)],
          ['Schedule', request.schedule],
          ['Retry of', request.retry_of === null ? null : <JobLink id={request.retry_of} />],
          ['Trace', request.traceparent === null ? null : <Copyable text={request.traceparent} />],
        ]}
      />
    </Panel>
  )
}
