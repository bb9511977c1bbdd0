import type { ComponentChildren, JSX } from 'preact'
import { words } from '../text/ids.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'plain'

const TONES: Readonly<Record<string, Tone>> = {
  COMPLETED: 'good',
  FAILED: 'bad',
  EXPIRED: 'warn',
  CANCELED: 'plain',
  RUNNING: 'busy',
  ASSIGNED: 'busy',
  QUEUED: 'plain',
  ACTIVE: 'good',
  JAILED: 'bad',
  SUSPENDED: 'bad',
  PAUSED: 'warn',
  RETIRED: 'plain',
  REGISTERED: 'plain',
  owed: 'warn',
  limited: 'busy',
  no_demand: 'plain',
}

export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** A word of the wire in the colour of its meaning, which the word itself also tells. */
export function Status({ of }: { readonly of: string }): JSX.Element {
  return <Badge tone={TONES[of] ?? 'plain'}>{of === of.toUpperCase() ? of : words(of)}</Badge>
}
