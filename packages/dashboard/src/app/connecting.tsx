import type { JSX } from 'preact'
import { line } from '../data/line.ts'
import { Mark } from './mark.tsx'

/** Before the server has been heard of for the first time. */
export function Connecting(): JSX.Element {
  const isLost = line.state.value === 'lost'
  return (
    <main class="login">
      <div class="row" role="status">
        <div class="brand">
          <Mark />
          Fairlead
        </div>
        <h1 class="hidden-text">Fairlead</h1>
        <span class="muted">
          {isLost ? 'The server does not answer. Trying again …' : 'Connecting …'}
        </span>
      </div>
    </main>
  )
}
