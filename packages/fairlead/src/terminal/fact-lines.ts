/** Names and values in two columns. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}
