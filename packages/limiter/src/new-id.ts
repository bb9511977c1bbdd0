/** An id that no other instance has, by the random source of the platform: Node, browsers and edge runtimes have it. */
export function newId(): string {
  const numbers = crypto.getRandomValues(new BigUint64Array(2))
  return Array.from(numbers, (number) => number.toString(36).padStart(13, '0')).join('')
}

/** One id, made when it is first asked for: edge runtimes give no random numbers while a module loads. */
export function lazyId(): () => string {
  let id: string | null = null
  return () => {
    id ??= newId()
    return id
  }
}
