import type { JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Completion, completions, type KnownValues } from './complete.ts'

/** A filter as text. Tab or Enter takes what is proposed, Escape closes the proposals. */
export function FilterBox(props: {
  readonly label: string
  readonly value: string
  readonly problem: string | null
  readonly known: KnownValues
  readonly onChange: (text: string) => void
}): JSX.Element {
  const { label, value, problem, known, onChange } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [cursor, setCursor] = useState(value.length)
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  // What is being written comes back from the address later, when there is more of it.
  useEffect(() => {
    if (document.activeElement !== input.current) setText(value)
  }, [value])

  // Before the next key: where the cursor is to be in the text that was just put there.
  const put = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (put.current === null) return
    input.current?.setSelectionRange(put.current, put.current)
    put.current = null
  })

  const proposals = isOpen ? completions(text, cursor, known) : []
  const change = (next: string, at: number): void => {
    setText(next)
    setCursor(at)
    setActive(-1)
    setOpen(true)
    onChange(next.trim())
  }
  const take = ({ text: next, cursor: at }: Completion): void => {
    change(next, at)
    put.current = at
    input.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const chosen = proposals[active]
    if (event.key === 'Escape') {
      if (proposals.length > 0) setOpen(false)
      else input.current?.blur()
      event.stopPropagation()
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && proposals.length > 0) {
      event.preventDefault()
      const step = event.key === 'ArrowDown' ? 1 : -1
      setActive((active + step + proposals.length) % proposals.length)
    } else if (event.key === 'ArrowDown') setOpen(true)
    else if (event.key === 'Enter') {
      event.preventDefault()
      if (chosen !== undefined) take(chosen)
      else setOpen(false)
    } else if (event.key === 'Tab' && !event.shiftKey && proposals.length > 0 && text !== '') {
      const first = chosen ?? proposals[0]
      if (first === undefined || wordAt(text, cursor) === '') return
      event.preventDefault()
      take(first)
    }
  }
  return (
    <div class="filter">
      <input
        ref={input}
        type="text"
        data-filter
        role="combobox"
        aria-label={label}
        aria-expanded={proposals.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        aria-invalid={problem !== null}
        aria-describedby={`${id}-problem`}
        autocomplete="off"
        spellcheck={false}
        placeholder="status:FAILED name:email error:timeout since:1h"
        value={text}
        onInput={(event) => {
          const { value: next, selectionStart } = event.currentTarget
          change(next, selectionStart ?? next.length)
        }}
        onFocus={(event) => {
          setCursor(event.currentTarget.selectionStart ?? text.length)
          setOpen(true)
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <div
        id={`${id}-list`}
        class="proposals"
        role="listbox"
        aria-label="Proposals"
        hidden={proposals.length === 0}
      >
        {proposals.map((one, i) => (
          <div
            key={one.shown}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === active}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(one)}
          >
            <code>{one.shown}</code>
            <span class="muted">{one.about}</span>
          </div>
        ))}
      </div>
      <p id={`${id}-problem`} class="bad" role={problem === null ? undefined : 'alert'}>
        {problem}
      </p>
    </div>
  )
}

function wordAt(text: string, cursor: number): string {
  return /\S*$/.exec(text.slice(0, cursor))?.[0] ?? ''
}
