import type { JobSummary } from '@fairlead/client'

/** A page of the list, newest first, and where the next one begins. */
export interface JobsPage {
  readonly jobs: readonly JobSummary[]
  readonly cursor: string | null
}

/**
 * The first page was asked for again while later ones are there: new jobs come to the front, and what the answer
 * covers is as in the answer. Where so many jobs are new that nothing connects the two, only the answer is left.
 */
export function withFirstPage(pages: readonly JobsPage[], fresh: JobsPage): readonly JobsPage[] {
  const [first, ...later] = pages
  const last = fresh.jobs.at(-1)
  if (first === undefined || later.length === 0 || last === undefined) return [fresh]
  const known = first.jobs.findIndex(({ task_id }) => task_id === last.task_id)
  if (known < 0) return [fresh]
  const jobs = [...fresh.jobs, ...first.jobs.slice(known + 1)]
  return [{ jobs, cursor: first.cursor }, ...later]
}

/** All jobs of the pages, each once. */
export function jobsOf(pages: readonly JobsPage[]): JobSummary[] {
  const all = new Map<string, JobSummary>()
  for (const { jobs } of pages) {
    for (const job of jobs) if (!all.has(job.task_id)) all.set(job.task_id, job)
  }
  return [...all.values()]
}
