import { signal } from '@preact/signals'
import { hrefOf, parseRoute, type Route } from './address.ts'

export { hrefOf } from './address.ts'

/** Where one is. */
export const route = signal<Route>(parseRoute(location.hash))

export function followAddress(): void {
  const base = new URL('.', document.baseURI).pathname
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : ''
  // Somebody wrote the address of a screen without the hash.
  if (path !== '' && path !== 'index.html' && location.hash === '') {
    history.replaceState(null, '', `${base}#/${path}${location.search}`)
    route.value = parseRoute(location.hash)
  }
  addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash)
  })
}

export function go(href: string): void {
  location.hash = href
}

/** The same place with another query, which is no step of the history. */
export function replaceQuery(query: Readonly<Record<string, string | null>>): void {
  const { screen, rest } = route.value
  history.replaceState(null, '', hrefOf(screen, rest, query))
  route.value = parseRoute(location.hash)
}
