import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

/** A modal dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog(props: {
  readonly title: string
  readonly isWide?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  const { title, isWide = false, onClose, children } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // At once, so that nothing behind it takes the next key or click.
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <div class="inside">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}
