import type { NodeClient } from '@fairlead/client'
import { FairleadError } from '@fairlead/core'
import { LinesError } from '../terminal/lines-error.ts'
import { table } from '../terminal/table.ts'

/** Digits of a short id, as lists show it. Every command takes it. */
const SHORT_DIGITS = 10
const PREFIX_DIGITS_MIN = 8
/** Jobs that an error lists. */
const LISTED_MAX = 10

const HEX = /^(?:0x)?([0-9a-f]{8,64})$/i

/** A task_id for people. */
export function shortId(taskId: string): string {
  return taskId.slice(0, 2 + SHORT_DIGITS)
}

/** `0x…` in lower case, for text that is a task_id or the beginning of one; else null. */
export function hexPrefix(text: string): string | null {
  const [, digits] = HEX.exec(text) ?? []
  return digits === undefined ? null : `0x${digits.toLowerCase()}`
}

/** The task_id that somebody typed: whole, or its first digits where they stand for one job only. */
export async function resolveTaskId(server: NodeClient, text: string): Promise<string> {
  const prefix = hexPrefix(text)
  if (prefix === null) {
    throw new FairleadError(
      'InvalidParams',
      `task_id: expected 0x and 64 hex digits, or the first ${PREFIX_DIGITS_MIN} or more of them, got ${text}; fairlead jobs list shows them`,
      { field: 'task_id' },
    )
  }
  // A whole id needs no search, and the server says itself if there is no such job.
  if (prefix.length === 2 + 64) return prefix
  const { jobs, cursor } = await server.call('aicf.listJobs', {
    task_id_prefix: prefix,
    limit: LISTED_MAX,
  })
  const [first] = jobs
  if (first === undefined) {
    throw new FairleadError(
      'NotFound',
      `task_id: no job begins with ${prefix}; fairlead jobs list shows those that there are`,
      { field: 'task_id', id: prefix },
    )
  }
  if (jobs.length === 1) return first.task_id
  const rows = jobs.map((job) => [job.task_id, job.name ?? '', job.status])
  const titles = [{ title: 'task_id' }, { title: 'name' }, { title: 'status' }]
  const more = cursor === null ? [] : ['… and more']
  throw new LinesError(
    'InvalidParams',
    `task_id: ${prefix} stands for several jobs; write more of its digits\n${[...table(titles, rows), ...more].join('\n')}`,
    { field: 'task_id', matches: jobs.map(({ task_id }) => task_id) },
  )
}

/** The same where a reference of a registration may stand as well. */
export async function resolveRegistration(server: NodeClient, text: string): Promise<string> {
  return hexPrefix(text) === null ? text : await resolveTaskId(server, text)
}
