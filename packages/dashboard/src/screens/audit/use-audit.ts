import type { FairleadError } from '@fairlead/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { brokenLink, type Entry, type Stretch, withStretch } from './linked.ts'

const PAGE = 100
/** A page that is left open for days starts again with the newest. */
const KEPT_MAX = 10_000

export interface Audit {
  /** Newest first, without gaps. */
  readonly entries: readonly Entry[]
  readonly hasMore: boolean
  readonly more: () => void
  readonly error: FairleadError | null
  readonly isLoaded: boolean
  /** Entries from this number on have been checked; null: none yet. */
  readonly verifiedFrom: number | null
  readonly verifiedTo: number | null
  /** An entry that does not hold; null: all that were checked do. */
  readonly broken: number | null
}

/**
 * The log, newest first, more as one scrolls. Each page that arrives is checked twice: this browser compares the link
 * of each entry with the one before, and the server hashes the entries of the page again, from the link below them.
 */
export function useAudit(): Audit {
  const live = useLive('audit.list', { order: 'newest', limit: PAGE }, { everyMs: 1_000 })
  const [entries, setEntries] = useState<readonly Entry[]>([])
  const [cursor, setCursor] = useState<string | null>(null)
  const [error, setError] = useState<FairleadError | null>(null)
  const [checked, setChecked] = useState<Stretch | null>(null)
  const [broken, setBroken] = useState<number | null>(null)
  const asked = useRef<string | null>(null)
  const { data } = live

  const verify = async (page: readonly Entry[]): Promise<void> => {
    const oldest = page.at(-1)
    const newest = page[0]
    if (oldest === undefined || newest === undefined || !may('audit.verify')) return
    const head = { seq: oldest.seq - 1, hash: oldest.prev_hash }
    try {
      const answer = await line.call('audit.verify', { head, limit: page.length })
      const isSame = answer.head.seq !== newest.seq || answer.head.hash === newest.hash
      if (answer.broken_seq !== null || !isSame) setBroken(answer.broken_seq ?? newest.seq)
      else {
        setChecked((known) => withStretch(known, { from: oldest.seq, to: newest.seq }))
      }
    } catch (problem) {
      setError(problem as FairleadError)
    }
  }

  useEffect(() => {
    if (data === null) return
    const newest = entries[0]?.seq ?? 0
    const fresh = data.entries.filter(({ seq }) => seq > newest)
    if (fresh.length === 0) return
    const isConnected = entries.length < KEPT_MAX && fresh.at(-1)?.seq === newest + 1
    const all = isConnected ? [...fresh, ...entries] : [...data.entries]
    setEntries(all)
    if (!isConnected) {
      setCursor(data.cursor)
      setChecked(null)
      asked.current = null
    }
    setBroken((known) => known ?? brokenLink(all))
    void verify(isConnected ? fresh : all)
  }, [data])

  const more = async (): Promise<void> => {
    if (cursor === null || asked.current === cursor) return
    asked.current = cursor
    try {
      const page = await line.call('audit.list', { order: 'newest', limit: PAGE, cursor })
      setEntries((known) => [...known, ...page.entries])
      setCursor(page.cursor)
      setBroken((known) => known ?? brokenLink([...entries.slice(-1), ...page.entries]))
      void verify(page.entries)
    } catch (problem) {
      asked.current = null
      setError(problem as FairleadError)
    }
  }
  return {
    entries,
    hasMore: cursor !== null,
    more: () => void more(),
    error: error ?? live.error,
    isLoaded: data !== null,
    verifiedFrom: checked?.from ?? null,
    verifiedTo: checked?.to ?? null,
    broken,
  }
}
