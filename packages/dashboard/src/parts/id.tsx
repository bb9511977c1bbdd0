import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { hrefOf } from '../app/route.ts'
import { shortId } from '../text/ids.ts'

const SHOWN_MS = 1_200

/** An id or another text that one may want elsewhere. */
export function Copyable(props: { readonly text: string; readonly shown?: string }): JSX.Element {
  const { text, shown = shortId(text) } = props
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    void navigator.clipboard?.writeText(text).then(() => {
      setCopied(true)
      setTimeout(() => setCopied(false), SHOWN_MS)
    })
  }
  return (
    <span class="nowrap">
      <span class="id" title={text}>
        {shown}
      </span>
      <button type="button" class="copy" onClick={copy} aria-label={`Copy ${shown}`}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </span>
  )
}

export function JobLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <a class="id" href={hrefOf('jobs', [id])} title={id}>
      {shortId(id)}
    </a>
  )
}

export function ProviderLink({ id }: { readonly id: string }): JSX.Element {
  return <a href={hrefOf('providers', [id])}>{id.replace(/^provider:/, '')}</a>
}

/** A caller by the subject of its token where that is known. */
export function CallerLink(props: {
  readonly id: string
  readonly name?: string | null
}): JSX.Element {
  const { id, name = null } = props
  return (
    <a
      class={name === null ? 'id' : ''}
      href={hrefOf('jobs', [], { filter: `caller:${id}` })}
      title={id}
    >
      {name ?? shortId(id)}
    </a>
  )
}
