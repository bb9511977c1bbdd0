import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { line } from '../data/line.ts'
import { ownZone, type Theme, theme, zone } from '../data/preferences.ts'
import { Dialog } from '../parts/dialog/dialog.tsx'
import { Facts } from '../parts/panel.tsx'

const isOpen = signal(false)

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'as the system'],
  ['light', 'light'],
  ['dark', 'dark'],
]

/** How this browser shows the page, and who is logged in. */
export function Settings(): JSX.Element {
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isOpen.value = true
        }}
      >
        Settings
      </button>
      {isOpen.value ? <Inside /> : null}
    </>
  )
}

function Inside(): JSX.Element {
  const who = line.who.value
  const zones = [...new Set([ownZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
  const close = (): void => {
    isOpen.value = false
  }
  return (
    <Dialog title="Settings of this browser" onClose={close}>
      <label class="field">
        Colours
        <select
          value={theme.value}
          onChange={(event) => {
            theme.value = event.currentTarget.value as Theme
          }}
        >
          {THEMES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Time zone of all times
        <select
          value={zone.value}
          onChange={(event) => {
            zone.value = event.currentTarget.value
          }}
        >
          {zones.map((name) => (
            <option key={name} value={name}>
              {name === ownZone ? `${name} (of this machine)` : name}
            </option>
          ))}
        </select>
      </label>
      <Facts
        of={[
          ['You are', who?.subject ?? ''],
          ['Role', who?.role ?? ''],
          [
            'Token',
            who?.is_open
              ? 'none: everybody on the machine of the server is an admin'
              : (who?.token_id ?? ''),
          ],
          [
            'May change things',
            who?.scope.read_only ? 'no, the token is read-only' : 'as its role may',
          ],
          ['Kinds', who?.scope.kinds?.join(', ') ?? 'all'],
          ['Models and tasks', who?.scope.models?.join(', ') ?? 'all'],
        ]}
      />
      <div class="actions">
        {who?.is_open ? null : (
          <button
            type="button"
            onClick={() => {
              close()
              line.logOut()
            }}
          >
            Log out
          </button>
        )}
        <button type="button" class="primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
