import type { JSX } from 'preact'

export interface MeterPart {
  readonly kind: 'used' | 'held' | 'over' | 'mine'
  /** Of the whole, from 0 to 1. */
  readonly share: number
}

/** A bar of parts of a whole; the label says the same in words. */
export function Meter(props: {
  readonly label: string
  readonly parts: readonly MeterPart[]
}): JSX.Element {
  const { label, parts } = props
  return (
    <div class="meter" role="img" aria-label={label}>
      {parts.map(({ kind, share }) => (
        <span
          key={kind}
          class={kind}
          style={{ width: `${(100 * Math.min(1, share)).toFixed(2)}%` }}
        />
      ))}
    </div>
  )
}
