/**
 * The known name that was probably meant; null if none is near. A name is near if it has all words of
 * what was written (`FAIRLEAD_PORT`: `FAIRLEAD_SERVER_PORT`), or differs from it by a few letters.
 */
export function nearest(written: string, known: Iterable<string>): string | null {
  const all = [...known].sort((a, b) => a.length - b.length)
  const words = wordsOf(written)
  const bare = words.join('')
  const withAll = all.find((name) => words.every((word) => wordsOf(name).includes(word)))
  const ranked = all
    .map((name) => ({ name, distance: editDistance(bare, wordsOf(name).join('')) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  if (best !== undefined && best.distance <= Math.floor(bare.length / 4)) return best.name
  return withAll ?? null
}

/** Words that say the same in other spellings: `batchSize`, `batch-size`, `BATCH_SIZE`. */
function wordsOf(name: string): string[] {
  const spelt = name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()
  return spelt.split(/[^a-z0-9]+/).filter((word) => word !== '' && word !== 'fairlead')
}

/** Letters to insert, delete, replace or swap with their neighbour to get from one text to the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + cost,
        isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
