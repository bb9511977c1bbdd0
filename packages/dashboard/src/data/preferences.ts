import { effect, signal } from '@preact/signals'
import { isZone } from '../text/times.ts'

export type Theme = 'system' | 'light' | 'dark'

const THEMES: readonly string[] = ['system', 'light', 'dark']

/** A browser may forbid it to a page; then nothing is kept. */
function kept(name: string): string | null {
  try {
    return localStorage.getItem(`fairlead.${name}`)
  } catch {
    return null
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`fairlead.${name}`, value)
  } catch {
    // The page works without.
  }
}

export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone

export const theme = signal<Theme>('system')
/** The time zone of all times on the page, unless they say another. */
export const zone = signal<string>(ownZone)

export function loadPreferences(): void {
  const keptTheme = kept('theme')
  if (keptTheme !== null && THEMES.includes(keptTheme)) theme.value = keptTheme as Theme
  const keptZone = kept('zone')
  if (keptZone !== null && isZone(keptZone)) zone.value = keptZone
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
    keep('theme', theme.value)
  })
  effect(() => keep('zone', zone.value))
}
