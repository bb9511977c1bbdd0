import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

export function Panel(props: {
  readonly title: ComponentChildren
  readonly tools?: ComponentChildren
  readonly isFlush?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  const { title, tools, isFlush = false, children } = props
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {tools === undefined ? null : <div class="row push">{tools}</div>}
      </header>
      <div class={isFlush ? 'body flush' : 'body'}>{children}</div>
    </section>
  )
}

/** The head of a screen. */
export function Title(props: {
  readonly text: string
  readonly note?: ComponentChildren
  readonly children?: ComponentChildren
}): JSX.Element {
  const { text, note, children } = props
  return (
    <div class="title">
      <h1 tabIndex={-1}>{text}</h1>
      {children}
      {note === undefined ? null : <p>{note}</p>}
    </div>
  )
}

/** Nothing is here: why, and what to do next. */
export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="empty">{children}</div>
}

export function Facts({
  of,
}: {
  readonly of: readonly (readonly [string, ComponentChildren])[]
}): JSX.Element {
  const known = of.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <>
          <dt key={`${name}:`}>{name}</dt>
          <dd key={name}>{value}</dd>
        </>
      ))}
    </dl>
  )
}

export function Figures({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren, note?: string])[]
}): JSX.Element {
  return (
    <dl class="figures">
      {of.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value} {note === undefined ? null : <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
