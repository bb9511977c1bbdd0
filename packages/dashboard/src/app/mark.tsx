import type { JSX } from 'preact'

/** The mark of the product: a line that gets shorter. */
export function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="6" fill="#1a5c8c" />
      <path d="M8 9h16M8 16h11M8 23h6" stroke="#fff" stroke-width="3.2" stroke-linecap="round" />
    </svg>
  )
}
