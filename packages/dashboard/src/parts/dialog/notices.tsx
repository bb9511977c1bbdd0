import { signal } from '@preact/signals'
import type { JSX } from 'preact'

interface Notice {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
}

const notices = signal<readonly Notice[]>([])
const SHOWN_MS = 8_000
let lastId = 0

/** Says what an action came to. What went wrong stays until it is closed. */
export function say(tone: Notice['tone'], text: string): void {
  const id = ++lastId
  notices.value = [...notices.value.slice(-3), { id, tone, text }]
  if (tone === 'good') setTimeout(() => close(id), SHOWN_MS)
}

function close(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id)
}

export function Notices(): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, tone, text }) => (
        <div key={id} class={`notice ${tone}`}>
          <span>{text}</span>
          <button type="button" class="small quiet" onClick={() => close(id)}>
            Close
          </button>
        </div>
      ))}
    </div>
  )
}
