import type { NodeClient } from '@fairlead/client'
import { escaped } from '../terminal/escaped.ts'
import { untilSignal } from '../terminal/until-signal.ts'
import type { RelayCounts } from './relay.ts'
import { refusalText } from './row-source.ts'
import { startRelay } from './start-relay.ts'

interface Run {
  readonly from: string
  readonly to: NodeClient
  readonly batch: number
  readonly pollMs: number
  /** End when no row is left, and with the first thing that holds it up. */
  readonly isOnce: boolean
  readonly note: (value: object, text: string) => void
}

/** A relay as a program: until a signal, or until no row is left. */
export async function runRelay({ from, to, isOnce, note, ...options }: Run): Promise<RelayCounts> {
  const { done } = untilSignal()
  let told = ''
  const relay = await startRelay({
    ...options,
    from,
    to,
    onRefused: ({ id, key }, error) => {
      const text = `refused row ${id} (${escaped(key)}): ${escaped(refusalText(error))}`
      note({ refused: { id, key, error: refusalText(error) } }, text)
    },
    onError: (error) => {
      const text = error instanceof Error ? error.message : String(error)
      // Tried again and again, it would fill the log.
      if (text !== told && !isOnce) note({ error: text }, `held up: ${escaped(text)}`)
      told = text
    },
  })
  note({ relaying: to.url }, `Relaying ${shown(from)} to ${to.url}`)
  try {
    await (isOnce ? Promise.race([relay.idle(), done]) : done)
  } finally {
    await relay.stop()
  }
  return relay.counts
}

/** Without the password. */
function shown(from: string): string {
  if (!URL.canParse(from)) return from
  const url = new URL(from)
  url.password = ''
  return url.href
}
