const NAME = 'fairlead.token'

let token: string | null = null

/** In memory; or, where that was asked for, in the session storage of this tab, which outlives a reload. */
export function currentToken(): string | null {
  if (token !== null) return token
  try {
    return sessionStorage.getItem(NAME)
  } catch {
    return null
  }
}

export function setToken(given: string, isKept: boolean): void {
  token = given
  try {
    if (isKept) sessionStorage.setItem(NAME, given)
    else sessionStorage.removeItem(NAME)
  } catch {
    // It is in memory.
  }
}

export function forgetToken(): void {
  token = null
  try {
    sessionStorage.removeItem(NAME)
  } catch {
    // There was none.
  }
}
