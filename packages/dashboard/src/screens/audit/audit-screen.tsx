import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { hrefOf } from '../../app/route.ts'
import { Failure } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { Copyable } from '../../parts/id.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { Empty, Facts, Panel, Title } from '../../parts/panel.tsx'
import { type ListColumn, VirtualList } from '../../parts/table/virtual-list.tsx'
import { Time } from '../../parts/time.tsx'
import { shortId } from '../../text/ids.ts'
import { countText, plural } from '../../text/numbers.ts'
import type { Entry } from './linked.ts'
import { type Audit, useAudit } from './use-audit.ts'

/** Everything that happened, in a chain of hashes. */
export function AuditScreen(): JSX.Element {
  const audit = useAudit()
  const [open, setOpen] = useState<Entry | null>(null)
  const { entries, hasMore, more, error, isLoaded } = audit
  return (
    <>
      <Title
        text="Audit"
        note="Entries are checked as they come into view: each carries the hash of the one before."
      >
        <Verified of={audit} />
      </Title>
      <div class="stack">
        {error === null ? null : <Failure error={error} />}
        <Panel
          title="Newest first"
          isFlush
          tools={
            <span class="muted">
              {plural(entries.length, 'entry', 'entries')} shown
              {hasMore ? ', more as you scroll' : ''}
            </span>
          }
        >
          {entries.length === 0 && isLoaded ? (
            <Empty>
              <p>Nothing has happened yet.</p>
            </Empty>
          ) : (
            <VirtualList
              label="Audit log"
              columns={columnsOf(audit)}
              rows={entries}
              idOf={({ seq }) => String(seq)}
              open={setOpen}
              onEnd={more}
            />
          )}
        </Panel>
      </div>
      {open === null ? null : <EntryDialog of={open} onClose={() => setOpen(null)} />}
    </>
  )
}

function Verified({ of }: { readonly of: Audit }): JSX.Element {
  const { broken, verifiedFrom, verifiedTo } = of
  if (broken !== null) return <Badge tone="bad">entry {countText(broken)} does not hold</Badge>
  if (verifiedFrom === null || verifiedTo === null) return <Badge>not checked yet</Badge>
  return (
    <Badge tone="good">
      {countText(verifiedFrom)} to {countText(verifiedTo)} verified
    </Badge>
  )
}

function columnsOf({ verifiedFrom, verifiedTo, broken }: Audit): readonly ListColumn<Entry>[] {
  const isChecked = (seq: number): boolean =>
    verifiedFrom !== null && verifiedTo !== null && seq >= verifiedFrom && seq <= verifiedTo
  return [
    { title: 'Number', px: 80, isNumber: true, cell: ({ seq }) => countText(seq) },
    { title: 'Time', px: 150, cell: ({ at }) => <Time at={at} /> },
    { title: 'Action', px: 140, cell: ({ action }) => action },
    { title: 'Actor', px: 140, cell: ({ actor }) => shortId(actor) },
    { title: 'Subject', px: 150, cell: ({ subject }) => <Subject of={subject} /> },
    {
      title: 'Details',
      px: 200,
      isWide: true,
      cell: ({ details }) => <span class="muted">{detailsText(details)}</span>,
    },
    {
      title: 'Chain',
      px: 80,
      cell: ({ seq }) =>
        seq === broken ? (
          <Badge tone="bad">broken</Badge>
        ) : isChecked(seq) ? (
          <span class="good">verified</span>
        ) : (
          ''
        ),
    },
  ]
}

function detailsText(details: Entry['details']): string {
  return Object.entries(details)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === 'string' ? shortId(value) : JSON.stringify(value)}`,
    )
    .join(', ')
}

const TASK_ID = /^0x[0-9a-f]{64}$/

function Subject({ of }: { readonly of: string }): JSX.Element {
  if (of.startsWith('provider:'))
    return <a href={hrefOf('providers', [of])}>{of.slice('provider:'.length)}</a>
  if (!TASK_ID.test(of)) return <>{of}</>
  return (
    <span class="id" title={of}>
      {shortId(of)}
    </span>
  )
}

function EntryDialog({
  of,
  onClose,
}: {
  readonly of: Entry
  readonly onClose: () => void
}): JSX.Element {
  const jobId = of.action.startsWith('job') && TASK_ID.test(of.subject) ? of.subject : null
  return (
    <Dialog title={`Entry ${countText(of.seq)}: ${of.action}`} isWide onClose={onClose}>
      <Facts
        of={[
          ['Time', <Time key="t" at={of.at} />],
          ['Actor', of.actor],
          ['Subject', <Copyable key="s" text={of.subject} shown={of.subject} />],
          ['Hash', <Copyable key="h" text={of.hash} />],
          ['Hash before', <Copyable key="p" text={of.prev_hash} />],
        ]}
      />
      <JsonView value={of.details} />
      <div class="actions">
        {jobId === null ? null : (
          <a class="button" href={hrefOf('jobs', [jobId])} onClick={onClose}>
            Open the job
          </a>
        )}
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
