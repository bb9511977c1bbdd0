import type { FairleadError, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { line } from '../../data/line.ts'
import { Failure } from '../../parts/answer.tsx'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say } from '../../parts/dialog/notices.tsx'
import { Facts } from '../../parts/panel.tsx'
import { readValue, type Tree, valueText, withValue } from './put-path.ts'

type Described = ResultOf<'policy.describe'>
type Setting = Described['settings'][number]
type Changes = ResultOf<'policy.set'>['changes']

/** Another value for one setting: the server says what it would change, and only then it can be put in force. */
export function SetPolicy(props: {
  readonly of: Setting
  readonly preset: Described['preset']
  readonly settings: readonly Setting[]
  readonly onClose: () => void
}): JSX.Element {
  const { of, preset, settings, onClose } = props
  const [text, setText] = useState(valueText(of.value))
  const [changes, setChanges] = useState<Changes | null>(null)
  const [error, setError] = useState<FairleadError | null>(null)
  const written = settings
    .filter(({ is_default, path }) => !is_default && path !== of.path)
    .reduce<Tree>((tree, { path, value }) => withValue(tree, path, value), {})
  const params = {
    policy: withValue(written, of.path, readValue(text)) as Record<string, unknown>,
    preset,
  }
  const look = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(null)
    try {
      setChanges((await line.call('policy.set', { ...params, dry_run: true })).changes)
    } catch (problem) {
      setError(problem as FairleadError)
    }
  }
  const put = async (): Promise<void> => {
    setError(null)
    try {
      await line.call('policy.set', params)
      say('good', 'The policy is in force.')
      onClose()
    } catch (problem) {
      setError(problem as FairleadError)
    }
  }
  return (
    <Dialog title={`Change ${of.path}`} isWide onClose={onClose}>
      <p>{of.purpose}</p>
      <Facts
        of={[
          ['Now', <code key="n">{valueText(of.value)}</code>],
          ['Default', <code key="d">{valueText(of.default)}</code>],
          ['Expected', of.expected],
        ]}
      />
      <form class="stack tight" onSubmit={(event) => void look(event)}>
        <label class="field">
          New value
          <input
            type="text"
            class="mono"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value)
              setChanges(null)
            }}
          />
        </label>
        {error === null ? null : <Failure error={error} />}
        {changes === null ? null : <Diff of={changes} />}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class={changes === null ? 'primary' : ''}>
            Show the difference
          </button>
          <button
            type="button"
            class="danger"
            disabled={changes === null || changes.length === 0}
            onClick={() => void put()}
          >
            Put in force
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function Diff({ of }: { readonly of: Changes }): JSX.Element {
  if (of.length === 0) return <p role="status">It would change nothing.</p>
  return (
    <ul class="diff stack tight" aria-label="Difference">
      {of.map(({ path, from, to }) => (
        <li key={path}>
          <div>{path}</div>
          <div class="from">− {valueText(from)}</div>
          <div class="to">+ {valueText(to)}</div>
        </li>
      ))}
    </ul>
  )
}
