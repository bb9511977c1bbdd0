import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { line } from '../data/line.ts'
import { Mark } from './mark.tsx'

export function Login(): JSX.Element {
  const [token, setToken] = useState('')
  const [isKept, setKept] = useState(false)
  const refusal = line.refusal.value
  const submit = (event: Event): void => {
    event.preventDefault()
    line.logIn(token.trim(), isKept)
  }
  return (
    <main class="login">
      <form onSubmit={submit}>
        <div class="brand">
          <Mark />
          Fairlead
        </div>
        <h1>Log in</h1>
        <p class="muted">
          The server wants a token. <code>fairlead token create --role auditor --subject you</code>{' '}
          makes one that may look at everything and change nothing.
        </p>
        {refusal === null ? null : (
          <div class="notice bad" role="alert">
            {refusal}
          </div>
        )}
        <label class="field">
          Token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isKept}
            onChange={(event) => setKept(event.currentTarget.checked)}
          />
          Keep it for this tab, until it is closed
        </label>
        <div class="actions">
          <button type="submit" class="primary">
            Log in
          </button>
        </div>
      </form>
    </main>
  )
}
