import type { FairleadError, JobSummary } from '@fairlead/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { line } from '../../data/line.ts'
import { type Live, useLive } from '../../data/live.ts'
import type { JobFilter } from '../../parts/filter/filter.ts'
import { type JobsPage, jobsOf, pageOfRow, withFirstPage, withPage } from './merge-pages.ts'

const PAGE = 100
const LATER_MS = 2_000

export interface Jobs {
  readonly live: Live<unknown>
  readonly rows: readonly JobSummary[]
  /** There are more than `rows`. */
  readonly hasMore: boolean
  readonly more: () => void
  /** Tells which row is the first that is seen: its page is kept up to date. */
  readonly seen: (row: number) => void
  readonly error: FairleadError | null
}

/** The jobs that fit, newest first: the first page live, more as one scrolls. */
export function useJobs(filter: JobFilter | null): Jobs {
  const key = JSON.stringify(filter)
  const params = filter === null ? null : { ...filter, order: 'newest' as const, limit: PAGE }
  const live = useLive('aicf.listJobs', params as never)
  const [pages, setPages] = useState<readonly JobsPage[]>([])
  const [error, setError] = useState<FairleadError | null>(null)
  const asked = useRef<string | null>(null)
  const current = useRef(key)
  current.current = key
  useEffect(() => {
    setPages([])
    setError(null)
    asked.current = null
  }, [key])
  const { data } = live
  useEffect(() => {
    if (data !== null) setPages((known) => withFirstPage(known, data))
  }, [data, key])

  const [row, setRow] = useState(0)
  const index = pageOfRow(pages, row)
  const before = index === 0 ? null : (pages[index - 1]?.cursor ?? null)
  const again = params === null || before === null ? null : { ...params, cursor: before }
  const { data: later } = useLive('aicf.listJobs', again as never, { everyMs: LATER_MS })
  useEffect(() => {
    if (later !== null) setPages((known) => withPage(known, index, later))
  }, [later, index])

  const cursor = pages.at(-1)?.cursor ?? null
  const more = async (): Promise<void> => {
    if (cursor === null || params === null || asked.current === cursor) return
    asked.current = cursor
    try {
      const page = await line.call('aicf.listJobs', { ...params, cursor } as never)
      if (current.current === key) setPages((known) => [...known, page])
    } catch (problem) {
      asked.current = null
      setError(problem as FairleadError)
    }
  }
  const rows = jobsOf(pages)
  return { live, rows, hasMore: cursor !== null, more: () => void more(), seen: setRow, error }
}
