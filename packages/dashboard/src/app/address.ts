/** Where in the page one is. It is in the part of the address behind `#`, which no server and no prefix touches. */
export interface Route {
  readonly screen: string
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [screen = '', ...rest] = path.split('/').map(decoded)
  return { screen, rest, query: new URLSearchParams(query) }
}

/** The address of a screen; fields of the query that are empty are left out. */
export function hrefOf(
  screen: string,
  rest: readonly string[] = [],
  query: Readonly<Record<string, string | null>> = {},
): string {
  const path = [screen, ...rest].map(encodeURIComponent).join('/')
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== '')
  const text = new URLSearchParams(given as [string, string][]).toString()
  return text === '' ? `#/${path}` : `#/${path}?${text}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
