import {
  FAILURE,
  JOB,
  LANE,
  LEASE,
  META,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  SETTLEMENT,
  SHARE,
  STORED_PART,
} from '../../rows/rows.ts'
import { columnsOf, textOf } from './query-texts.ts'

/** Statements that are alike but for a table or a word, by their names. A file for each would say the same many times. */
export function madeQueries(): [name: string, sql: string][] {
  return [...listsOfAll(), ...prunes(), ...listsOfJobs()]
}

/** STORE-9: every row of a table in order. */
function listsOfAll(): [string, string][] {
  const orders: readonly (readonly [RowType<unknown>, string])[] = [
    [JOB, 'id'],
    [LEASE, 'id'],
    [PROVIDER, 'id'],
    [RESULT, 'job_id, job'],
    [FAILURE, 'job_id, attempt'],
    [SHARE, 'kind, caller'],
    [LANE, 'lane, CAST(key AS BLOB)'],
    [ROUND, 'height, kind'],
    [SETTLEMENT, 'epoch_id'],
    [STORED_PART, 'epoch_id, provider_id, part'],
    [META, 'CAST(name AS BLOB)'],
  ]
  return orders.map(([type, order]) => {
    const { table } = type
    return [`all-${table}`, `SELECT ${columnsOf(type).join(', ')} FROM ${table} ORDER BY ${order}`]
  })
}

/**
 * Rows of jobs to delete, which go last: of the next jobs, by the time before which they ended and how many (STORE-10),
 * and of jobs that are named by a list of numbers in JSON (STORE-22).
 */
function prunes(): [string, string][] {
  const keys = { payloads: 'job', leases: 'job', failures: 'job', jobs: 'seq' }
  return Object.entries(keys).flatMap(([table, key]): [string, string][] => [
    [
      `prune-${table}`,
      `DELETE FROM ${table}
       WHERE ${key} IN (SELECT seq FROM jobs WHERE ended_at < ? ORDER BY ended_at, seq LIMIT ?)`,
    ],
    [
      `prune-named-${table}`,
      `DELETE FROM ${table}
       WHERE ${key} IN (SELECT value FROM json_each(?))
         AND ${key} IN (SELECT seq FROM jobs WHERE ended_at IS NOT NULL)`,
    ],
  ])
}

/** STORE-8: jobs, those of a caller, with a key or not, live ones, those whose id begins with some digits, and ended ones by their ends. */
function listsOfJobs(): [string, string][] {
  const ranges = {
    jobs: 'TRUE',
    'jobs-of-caller': 'caller48 = @caller48 AND caller = @caller',
    'jobs-by-key': 'key_hash = @key_hash AND caller = @caller',
    'live-jobs': 'ended_at IS NULL',
    'jobs-by-prefix':
      'id48 BETWEEN @first48 AND @last48 AND id BETWEEN @first_id AND @last_id AND (@caller IS NULL OR caller = @caller)',
  }
  const byEnd = {
    range: 'ended_at < @ended_before AND (@caller IS NULL OR caller = @caller)',
    between: '(ended_at, seq) > (@ended_at, @ended_seq) AND seq > @after_seq',
    order: 'ended_at, seq',
  }
  const ranged = Object.entries(ranges).flatMap(([name, range]): [string, string][] => [
    [`list-${name}`, textOf('list-jobs', { range, between: 'seq > @after_seq', order: 'seq' })],
    [
      `list-newest-${name}`,
      textOf('list-jobs', {
        range,
        between: 'seq > @after_seq AND seq < @before_seq',
        order: 'seq DESC',
      }),
    ],
  ])
  return [...ranged, ['list-jobs-by-end', textOf('list-jobs', byEnd)]]
}
