import type { JSX } from 'preact'
import { Scroll } from '../scroll.tsx'

/** Long lists are cut: a page with a million rows is of no use to anybody. */
const ITEMS_MAX = 200
const OPEN_DEPTH = 2

/** A value as a tree that folds. */
export function JsonView({ value }: { readonly value: unknown }): JSX.Element {
  return (
    <Scroll class="json" label="JSON">
      <Node name={null} value={value} depth={0} />
    </Scroll>
  )
}

function Node(props: {
  readonly name: string | null
  readonly value: unknown
  readonly depth: number
}): JSX.Element {
  const { name, value, depth } = props
  const label = name === null ? null : <span class="name">{name}: </span>
  if (typeof value !== 'object' || value === null) {
    const kind = typeof value === 'string' ? 'string' : 'other'
    return (
      <div class="leaf">
        {label}
        <span class={kind}>{JSON.stringify(value) ?? 'null'}</span>
      </div>
    )
  }
  const entries = Object.entries(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div class="leaf">
        {label}
        {open}
        {close}
      </div>
    )
  }
  return (
    <details open={depth < OPEN_DEPTH}>
      <summary>
        {label}
        {open} {entries.length} {close}
      </summary>
      {entries.slice(0, ITEMS_MAX).map(([key, item]) => (
        <Node key={key} name={key} value={item} depth={depth + 1} />
      ))}
      {entries.length > ITEMS_MAX ? (
        <div class="muted">and {entries.length - ITEMS_MAX} more</div>
      ) : null}
    </details>
  )
}
