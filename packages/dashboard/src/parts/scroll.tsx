import type { ComponentChildren, JSX } from 'preact'

/** What may be longer or wider than its place. It takes the focus, so that a keyboard can scroll it too. */
export function Scroll(props: {
  readonly label: string
  readonly class: string
  readonly children: ComponentChildren
}): JSX.Element {
  const { label, children } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <div role="group" class={props.class} tabIndex={0} aria-label={label}>
      {children}
    </div>
  )
}

/** Text as it was written. */
export function PlainText(props: { readonly label: string; readonly text: string }): JSX.Element {
  return (
    <Scroll class="text" label={props.label}>
      <pre>{props.text}</pre>
    </Scroll>
  )
}
