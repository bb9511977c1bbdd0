import type { JobSummary } from '@fairlead/client'

/** A page of the list, newest first, and where the next one begins. */
export interface JobsPage {
  readonly jobs: readonly JobSummary[]
  readonly cursor: string | null
}

/** A page that is left open for days starts again with the newest. */
const FIRST_MAX = 2_000

/**
 * The first page was asked for again while later ones are there: new jobs come to the front, and what the answer
 * covers is as in the answer. Where so many jobs are new that nothing connects the two, only the answer is left.
 */
export function withFirstPage(pages: readonly JobsPage[], fresh: JobsPage): readonly JobsPage[] {
  const [first, ...later] = pages
  const last = fresh.jobs.at(-1)
  if (first === undefined || later.length === 0 || last === undefined) return [fresh]
  if (first.jobs.length > FIRST_MAX) return [fresh]
  const known = first.jobs.findIndex(({ task_id }) => task_id === last.task_id)
  if (known < 0) return [fresh]
  const jobs = [...fresh.jobs, ...first.jobs.slice(known + 1)]
  return [{ jobs, cursor: first.cursor }, ...later]
}

/** A later page was asked for again. */
export function withPage(
  pages: readonly JobsPage[],
  index: number,
  fresh: JobsPage,
): readonly JobsPage[] {
  const old = pages[index]
  if (old === undefined || index === 0) return pages
  // Where the next page begins stays, or jobs between the two would be on neither.
  return pages.with(index, index === pages.length - 1 ? fresh : { ...fresh, cursor: old.cursor })
}

/** The page that a row of `jobsOf` is on. */
export function pageOfRow(pages: readonly JobsPage[], row: number): number {
  let rows = 0
  for (const [index, { jobs }] of pages.entries()) {
    rows += jobs.length
    if (row < rows) return index
  }
  return Math.max(0, pages.length - 1)
}

/** All jobs of the pages, each once. */
export function jobsOf(pages: readonly JobsPage[]): JobSummary[] {
  const all = new Map<string, JobSummary>()
  for (const { jobs } of pages) {
    for (const job of jobs) if (!all.has(job.task_id)) all.set(job.task_id, job)
  }
  return [...all.values()]
}
