import {
  FAILURE,
  JOB,
  JOB_CHANGE,
  type Kind,
  LANE,
  LEASE,
  LEASE_CHANGE,
  META,
  PAYLOAD,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  SETTLEMENT,
  SHARE,
  STORED_PART,
} from '../rows/rows.ts'
import { columnsOf, textOf } from './query-texts.ts'

/** Statements that are alike but for a table or a word, by their names. A file for each would say the same many times. */
export function madeQueries(): [name: string, text: string][] {
  return [...writes(), ...listsOfAll(), ...prunes(), ...listsOfJobs()]
}

const TYPES: Readonly<Record<Kind, string>> = {
  id: 'bytea',
  int: 'bigint',
  text: 'text',
  json: 'json',
  list: 'json',
  bigint: 'numeric',
  bool: 'boolean',
  bytes: 'bytea',
}

/** Beside the columns of JOB; `tags` is the text of an array, because `unnest` takes lists of lists apart. */
const JOB_MORE = { has_key: 'boolean', tags: 'text', dedupe_key: 'text', schedule: 'text' }

/** Each has a list of values for each column. */
function writes(): [string, string][] {
  return [
    ['insert-jobs', insert(JOB, JOB_MORE)],
    ['insert-payloads', insert(PAYLOAD)],
    ['insert-leases', insert(LEASE) + OF_JOBS],
    ['upsert-results', insert(RESULT) + OF_JOBS + replace(RESULT)],
    ['upsert-failures', insert(FAILURE) + OF_JOBS + replace(FAILURE)],
    ['insert-rounds', insert(ROUND)],
    ['upsert-providers', insert(PROVIDER) + replace(PROVIDER)],
    ['upsert-shares', insert(SHARE) + replace(SHARE)],
    ['upsert-lanes', insert(LANE) + replace(LANE)],
    ['insert-settlements', insert(SETTLEMENT)],
    ['insert-settlement_parts', insert(STORED_PART)],
    ['upsert-meta', insert(META) + replace(META)],
    ['upsert-payloads', insert(PAYLOAD) + replace(PAYLOAD)],
    ['update-jobs', change('update-jobs', JOB_CHANGE)],
    ['update-leases', change('update-leases', LEASE_CHANGE)],
  ]
}

function insert(type: RowType<unknown>, more: Readonly<Record<string, string>> = {}): string {
  const names = [...type.columns.map(({ column }) => column), ...Object.keys(more)]
  const values = names.map((name) => (name === 'tags' ? 'n.tags::text[]' : `n.${name}`))
  const into = `INSERT INTO ${type.table} (${names.join(', ')})`
  return `${into} SELECT ${values.join(', ')} FROM ${listsOf(type, more)}`
}

/** STORE-6: rows of a job that is not there are left out, and missing in the count. */
const OF_JOBS = ' JOIN jobs ON jobs.seq = n.job AND jobs.id = n.job_id'

/** STORE-7: a later row takes the place of the first. */
function replace({ columns, keys }: RowType<unknown>): string {
  const names = columns.map(({ column }) => column)
  const set = names.slice(keys).map((name) => `${name} = EXCLUDED.${name}`)
  return ` ON CONFLICT (${names.slice(0, keys).join(', ')}) DO UPDATE SET ${set.join(', ')}`
}

function change(query: string, type: RowType<unknown>): string {
  // The columns that find a row are the first of the facts, and only what became of it changes.
  const state = type.columns.slice(type.sums[0]?.from)
  const set = state.map(({ column }) => `${column} = n.${column}`).join(', ')
  return textOf(query, { set, rows: listsOf(type) })
}

/** Rows as a list for each column. */
function listsOf(
  { columns }: RowType<unknown>,
  more: Readonly<Record<string, string>> = {},
): string {
  const types = [
    ...columns.map(({ column, kind }): [string, string] => [column, TYPES[kind]]),
    ...Object.entries(more),
  ]
  const lists = types.map(([name, type]) => `@${name}::${type}[]`)
  return `unnest(${lists.join(', ')}) AS n (${types.map(([name]) => name).join(', ')})`
}

/** STORE-9: every row of a table in order. Lanes and meta are put in order where their text is as it was given. */
function listsOfAll(): [string, string][] {
  const orders: readonly (readonly [RowType<unknown>, string])[] = [
    [JOB, 'id'],
    [LEASE, 'id'],
    [PROVIDER, 'id'],
    [RESULT, 'job_id, job'],
    [FAILURE, 'job_id, attempt'],
    [SHARE, 'kind, caller'],
    [LANE, 'lane, key'],
    [ROUND, 'height, kind'],
    [SETTLEMENT, 'epoch_id'],
    [STORED_PART, 'epoch_id, provider_id, part'],
    [META, 'name'],
  ]
  return orders.map(([type, order]) => {
    const { table } = type
    return [`all-${table}`, `SELECT ${columnsOf(type).join(', ')} FROM ${table} ORDER BY ${order}`]
  })
}

/** Rows of the next jobs to delete (STORE-10), and of those that are named (STORE-22). The jobs go last. */
function prunes(): [string, string][] {
  const keys = { payloads: 'job', leases: 'job', failures: 'job', jobs: 'seq' }
  const named = 'seq = ANY (@jobs::bigint[]) AND ended_at IS NOT NULL'
  return Object.entries(keys).flatMap(([table, key]): [string, string][] => [
    [
      `prune-${table}`,
      `DELETE FROM ${table}
       WHERE ${key} IN (SELECT seq FROM jobs WHERE ended_at < @ended ORDER BY ended_at, seq LIMIT @limit)`,
    ],
    [
      `prune-named-${table}`,
      `DELETE FROM ${table} WHERE ${key} IN (SELECT seq FROM jobs WHERE ${named})`,
    ],
  ])
}

/** STORE-8: jobs, those of a caller, with a key or not, live ones, those whose id begins with some digits, and ended ones. */
function listsOfJobs(): [string, string][] {
  const ranges = {
    jobs: 'TRUE',
    'jobs-of-caller': 'caller = @caller',
    'jobs-by-key': 'has_key AND caller = @caller AND tx_hash = @tx_hash',
    'live-jobs': 'ended_at IS NULL',
    'jobs-by-prefix':
      'id BETWEEN @first_id AND @last_id AND (@caller::bytea IS NULL OR caller = @caller)',
  }
  const byEnd = {
    range: 'ended_at < @ended_before::bigint AND (@caller::bytea IS NULL OR caller = @caller)',
    between:
      '(ended_at, seq) > (@ended_at::bigint, @ended_seq::bigint) AND seq > @after_seq::bigint',
    order: 'ended_at, seq',
  }
  const ranged = Object.entries(ranges).flatMap(([name, range]): [string, string][] => [
    [
      `list-${name}`,
      textOf('list-jobs', { range, between: 'seq > @after_seq::bigint', order: 'seq' }),
    ],
    [
      `list-newest-${name}`,
      textOf('list-jobs', {
        range,
        between: 'seq > @after_seq::bigint AND seq < @before_seq::bigint',
        order: 'seq DESC',
      }),
    ],
  ])
  return [...ranged, ['list-jobs-by-end', textOf('list-jobs', byEnd)]]
}
