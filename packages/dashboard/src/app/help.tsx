import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Dialog } from '../parts/dialog/dialog.tsx'
import { TERMS } from '../parts/filter/filter.ts'

export const isHelpOpen = signal(false)

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['/'], 'to the filter, from any screen'],
  [['?'], 'this help'],
  [['↑', '↓', 'PgUp', 'PgDn', 'Home', 'End'], 'through a list'],
  [['Enter'], 'open the row'],
  [['Tab'], 'take the proposal of a filter'],
  [['Esc'], 'close what is open, or go back to the list'],
]

export function Help(): JSX.Element | null {
  if (!isHelpOpen.value) return null
  const close = (): void => {
    isHelpOpen.value = false
  }
  return (
    <Dialog title="Keyboard and filter" isWide onClose={close}>
      <dl class="facts">
        {KEYS.map(([keys, text]) => (
          <>
            <dt key={`${text}:`}>
              {keys.map((key) => (
                <>
                  <kbd key={key}>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd key={text}>{text}</dd>
          </>
        ))}
      </dl>
      <h3>Terms of a filter, joined by "and"</h3>
      <dl class="facts">
        {Object.entries(TERMS).map(([name, { about, values }]) => (
          <>
            <dt key={`${name}:`}>
              <code>{name}:</code>
            </dt>
            <dd key={name}>
              {about}
              {values.length === 0 ? null : <span class="muted"> ({values.join(', ')})</span>}
            </dd>
          </>
        ))}
      </dl>
      <div class="actions">
        <button type="button" class="primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
