import type { JobSummary } from '@fairlead/client'
import { describe, expect, it } from 'vitest'
import { type JobsPage, jobsOf, pageOfRow, withFirstPage, withPage } from './merge-pages.ts'

const page = (ids: string, cursor: string | null, status = 'QUEUED'): JobsPage => ({
  jobs: [...ids].map((task_id) => ({ task_id, status }) as unknown as JobSummary),
  cursor,
})
const shown = (pages: readonly JobsPage[]): string =>
  jobsOf(pages)
    .map(({ task_id }) => task_id)
    .join('')

describe('VIEW-14: a list of jobs whose first page is asked for again', () => {
  it('without later pages it is what the answer says', () => {
    expect(shown(withFirstPage([], page('cba', '1')))).toBe('cba')
    expect(shown(withFirstPage([page('cba', '1')], page('edc', '3')))).toBe('edc')
  })

  it('new jobs come to the front, those that no longer fit go, and later pages stay', () => {
    const pages = [page('fed', '4'), page('cba', null)]
    const merged = withFirstPage(pages, page('hge', '5', 'RUNNING'))
    expect(shown(merged)).toBe('hgedcba')
    expect(jobsOf(merged).find(({ task_id }) => (task_id as string) === 'e')?.status).toBe(
      'RUNNING',
    )
    expect(merged.at(-1)?.cursor).toBeNull()
  })

  it('so many new jobs that nothing connects the two leave only the answer', () => {
    const pages = [page('fed', '4'), page('cba', null)]
    expect(withFirstPage(pages, page('zyx', '9'))).toEqual([page('zyx', '9')])
  })

  it('a job on two pages is shown once', () => {
    expect(shown([page('cb', '2'), page('ba', null)])).toBe('cba')
  })

  it('a later page that is asked for again takes the place of the old one', () => {
    const pages = [page('fe', '4'), page('dc', '2'), page('ba', null)]
    const fresh = withPage(pages, 1, page('dx', '3', 'RUNNING'))
    expect(shown(fresh)).toBe('fedxba')
    expect(fresh[1]?.cursor).toBe('2')
    expect(withPage(pages, 2, page('b', null)).at(-1)?.cursor).toBeNull()
    expect(withPage(pages, 3, page('z', null))).toBe(pages)
    expect([0, 1, 2, 5, 99].map((row) => pageOfRow(pages, row))).toEqual([0, 0, 1, 2, 2])
  })

  it('a first page that has grown for days starts again', () => {
    const long = {
      jobs: Array.from({ length: 2_001 }, (_, i) => ({ task_id: `${i}` }) as unknown as JobSummary),
      cursor: '9',
    }
    expect(withFirstPage([long, page('a', null)], page('cba', '1'))).toEqual([page('cba', '1')])
  })
})
