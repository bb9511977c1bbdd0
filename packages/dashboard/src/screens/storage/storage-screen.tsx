import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { Empty, Facts, Panel, Title } from '../../parts/panel.tsx'
import { Ago } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { bytesText, countText, plural } from '../../text/numbers.ts'

type Storage = NonNullable<ResultOf<'stats.storage'>['storage']>

/** Log, tables, growth and the last backup. */
export function StorageScreen(): JSX.Element {
  const live = useLive('stats.storage', {}, { everyMs: 1_000, on: ['backupMade'] })
  return (
    <>
      <Title
        text="Storage"
        note="The log is the truth. The tables follow it, and the log is trimmed behind them."
      />
      <Answer of={live}>
        {({ storage }) =>
          storage === null ? (
            <Empty>
              <p>
                The server does not know its store: it was given one by the program that it runs in.
              </p>
            </Empty>
          ) : (
            <div class="grid">
              <Log of={storage} />
              <Tables of={storage} />
              <Backup of={storage} />
            </div>
          )
        }
      </Answer>
    </>
  )
}

function Log({ of }: { readonly of: Storage }): JSX.Element {
  const { log, journal } = of
  return (
    <Panel title="Log">
      <Facts
        of={[
          ['Files', bytesText(log.bytes)],
          ['Kept', plural(log.batches, 'batch', 'batches')],
          ['Newest batch', countText(log.newest)],
          ['Audit entries', `${countText(journal.oldest)} to ${countText(journal.newest)}`],
        ]}
      />
    </Panel>
  )
}

function Tables({ of }: { readonly of: Storage }): JSX.Element {
  const { log, tables, growth, disk_free_bytes } = of
  const size = (bytes: number | null): string => (bytes === null ? 'in no file' : bytesText(bytes))
  return (
    <Panel title="Tables">
      <Facts
        of={[
          ['File', size(tables.bytes)],
          ['Write-ahead log', size(tables.wal_bytes)],
          [
            'Behind the log',
            `${plural(tables.behind_changes, 'change')}, ${plural(Math.max(0, log.newest - tables.batch), 'batch', 'batches')}`,
          ],
          [
            'Last took in',
            tables.checkpoint_at === null ? (
              'not since the start'
            ) : (
              <Ago at={tables.checkpoint_at} />
            ),
          ],
          [
            'Growth',
            growth === null
              ? 'measured too briefly'
              : `${bytesText(growth.bytes_per_hour)} an hour, over ${durationText(growth.over_ms)}`,
          ],
          ['Free on the disk', disk_free_bytes === null ? 'not known' : bytesText(disk_free_bytes)],
        ]}
      />
    </Panel>
  )
}

function Backup({ of }: { readonly of: Storage }): JSX.Element {
  const { last_backup: last } = of
  return (
    <Panel title="Last backup">
      <div class="stack tight">
        {last === null ? (
          <p class="muted">
            None since the server started. From a shell:{' '}
            <code>fairlead backup /var/backups/fairlead.db</code>
          </p>
        ) : (
          <Facts
            of={[
              ['Made', <Ago key="a" at={last.at} />],
              ['File', last.path],
              ['Size', bytesText(last.bytes)],
            ]}
          />
        )}
        {may('storage.backup') ? <Make /> : null}
      </div>
    </Panel>
  )
}

function Make(): JSX.Element {
  const [path, setPath] = useState('')
  return (
    <div class="row" style={{ alignItems: 'flex-end' }}>
      <label class="field" style={{ flex: '1 1 200px' }}>
        New file on the machine of the server
        <input
          type="text"
          placeholder="/var/backups/fairlead.db"
          value={path}
          onInput={(event) => setPath(event.currentTarget.value)}
        />
      </label>
      <Action
        label="Make a backup"
        isSmall={false}
        done={`The backup is in ${path}.`}
        run={() => line.call('storage.backup', { path })}
      />
    </div>
  )
}
