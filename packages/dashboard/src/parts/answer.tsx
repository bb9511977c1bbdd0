import type { FairleadError } from '@fairlead/client'
import type { ComponentChildren, JSX } from 'preact'
import type { Live } from '../data/live.ts'

/** An answer once it is there; an error of the newest try stands above an older answer, never instead of it. */
export function Answer<T>(props: {
  readonly of: Live<T>
  readonly children: (data: T) => ComponentChildren
}): JSX.Element {
  const { of, children } = props
  return (
    <>
      {of.error === null ? null : <Failure error={of.error} retry={of.refresh} />}
      {of.data === null ? of.error === null ? <Loading /> : null : children(of.data)}
    </>
  )
}

export function Failure({
  error,
  retry,
}: {
  readonly error: FairleadError
  readonly retry?: () => void
}): JSX.Element {
  return (
    <div class="notice bad" role="alert">
      <span>{textOf(error)}</span>
      {retry === undefined ? null : (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

function textOf(error: FairleadError): string {
  return error.code === undefined ? error.message : `${error.code}: ${error.message}`
}

function Loading(): JSX.Element {
  return (
    <p class="empty" role="status">
      Loading …
    </p>
  )
}
