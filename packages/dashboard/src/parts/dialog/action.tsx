import type { FairleadError } from '@fairlead/client'
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Failure } from '../answer.tsx'
import { Dialog } from './dialog.tsx'
import { say } from './notices.tsx'

/** A button that does something. With a question it asks before. */
export function Action(props: {
  readonly label: string
  /** Said once it is done. */
  readonly done: string
  readonly run: () => Promise<unknown>
  readonly question?: ComponentChildren
  readonly isDanger?: boolean
  readonly isSmall?: boolean
}): JSX.Element {
  const { label, done, run, question, isDanger = false, isSmall = true } = props
  const [isAsking, setAsking] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<FairleadError | null>(null)
  const act = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await run()
      setAsking(false)
      say('good', done)
    } catch (problem) {
      setError(problem as FairleadError)
      if (question === undefined) say('bad', (problem as Error).message)
    }
    setBusy(false)
  }
  const tone = isDanger ? 'danger' : ''
  return (
    <>
      <button
        type="button"
        class={`${isSmall ? 'small' : ''} ${tone}`}
        disabled={isBusy}
        onClick={() => (question === undefined ? void act() : setAsking(true))}
      >
        {label}
      </button>
      {isAsking ? (
        <Dialog title={`${label}?`} onClose={() => setAsking(false)}>
          <div>{question}</div>
          {error === null ? null : <Failure error={error} />}
          <div class="actions">
            <button type="button" onClick={() => setAsking(false)}>
              Leave it
            </button>
            <button
              type="button"
              class={isDanger ? 'danger' : 'primary'}
              disabled={isBusy}
              onClick={() => void act()}
            >
              {label}
            </button>
          </div>
        </Dialog>
      ) : null}
    </>
  )
}
