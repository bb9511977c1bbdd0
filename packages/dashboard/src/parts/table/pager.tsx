import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

const PAGE = 200

interface Pages {
  /** For the question of this page. */
  readonly page: { readonly limit: number; readonly cursor?: string }
  /** Buttons to the page before and the next; nothing where there is but one. */
  readonly pager: (next: string | null) => JSX.Element | null
}

/** Goes through a list a page at a time, and back. */
export function usePages(): Pages {
  const [cursors, setCursors] = useState<readonly string[]>([])
  const cursor = cursors.at(-1)
  const pager = (next: string | null): JSX.Element | null =>
    cursors.length === 0 && next === null ? null : (
      <div class="row pager">
        <button
          type="button"
          disabled={cursors.length === 0}
          onClick={() => setCursors(cursors.slice(0, -1))}
        >
          Page before
        </button>
        <button
          type="button"
          disabled={next === null}
          onClick={() => next !== null && setCursors([...cursors, next])}
        >
          Next page
        </button>
        <span class="muted">Page {cursors.length + 1}</span>
      </div>
    )
  return { page: { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, pager }
}
