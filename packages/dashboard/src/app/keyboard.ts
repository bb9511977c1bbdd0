import { isHelpOpen } from './help.tsx'
import { isMenuOpen } from './nav.tsx'
import { go, hrefOf, route } from './route.ts'

/** Keys that count wherever the focus is, but not while one writes. */
export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    const target = event.target as HTMLElement
    if (target.closest('input, textarea, select, dialog') !== null) return
    if (event.key === '/') {
      event.preventDefault()
      toFilter()
    } else if (event.key === '?') {
      event.preventDefault()
      isHelpOpen.value = true
    } else if (event.key === 'Escape') goBack()
  })
}

function goBack(): void {
  const { screen, rest } = route.value
  if (isMenuOpen.value) isMenuOpen.value = false
  else if (rest.length > 0) go(hrefOf(screen))
}

/** The filter of this screen; where there is none, that of the jobs. */
function toFilter(): void {
  if (focusFilter()) return
  isFilterWanted = true
  go(hrefOf('jobs'))
}

let isFilterWanted = false

/** Where the focus begins on a new screen: at its title, for readers of screens; or where it was wanted. */
export function focusScreen(): void {
  const isFocused = isFilterWanted && focusFilter()
  isFilterWanted = false
  if (!isFocused) document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}

function focusFilter(): boolean {
  const input = document.querySelector<HTMLInputElement>('[data-filter]')
  input?.focus()
  return input !== null
}
