import type { FailureRow, JobRow, LeaseRow, ResultRow } from '@fairlead/core'
import { toHex } from '@fairlead/core'
import type {
  KeyedRow,
  ProviderRow,
  RoundRow,
  SettlementPart,
  SettlementRow,
  ShareRow,
  JobState as StateOfJob,
  LeaseState as StateOfLease,
} from '@fairlead/core/internal'
import type { SqlValue } from '../sqlite/driver.ts'
import type { StoredStore } from '../sqlite/tables/store-row.ts'

/**
 * The one place where a column becomes a field. The cells of a row on its way to the writer, the parameters of its
 * statement and the row that a read returns all follow from these lists.
 *
 * - `id`: 0x and 64 digits, stored as 32 bytes
 * - `text`: any text. A driver may cut text at U+0000, so text that contains it is stored as bytes.
 * - `json`: lists and records; `list`: a list, stored as NULL if it is empty
 * - `bigint`: decimal text, because the integers of SQLite end at 2^63
 */
export type Kind = 'id' | 'int' | 'text' | 'json' | 'list' | 'bigint' | 'bool' | 'bytes'

export interface Column {
  readonly column: string
  readonly field: string
  readonly kind: Kind
}

/** The cells from one place to another, end excluded, have a checksum in a column of its own; see row-sums.ts. */
export interface Sum {
  readonly column: string
  readonly from: number
  readonly to: number
}

export interface RowType<Row> {
  readonly table: string
  /** The columns that find the row come first. */
  readonly columns: readonly Column[]
  readonly keys: number
  readonly sums: readonly Sum[]
  /** All fields in their order, so that each row is made with its final shape. */
  readonly blank: Row
}

type Lines<Row> = readonly (readonly [column: string, field: keyof Row & string, kind: Kind])[]

/** A row whose changes replace all of it has one sum. */
function rowType<Row extends object>(
  table: string,
  keys: number,
  ...lines: Lines<Row>
): RowType<Row> {
  return typeOf(table, keys, lines, [{ column: 'sum', from: 0, to: lines.length }])
}

/** A row of which a part changes by itself has a sum for the facts, and one for that part. */
function changingType<Row extends object>(
  table: string,
  keys: number,
  facts: Lines<Row>,
  state: Lines<Row>,
): RowType<Row> {
  return typeOf(
    table,
    keys,
    [...facts, ...state],
    [{ column: 'facts_sum', from: 0, to: facts.length }, stateSum(facts, state)],
  )
}

/** A change of such a row: some of its facts find it, the rest is what became of it. */
function changeType<Row extends object>(
  table: string,
  keys: number,
  facts: Lines<Row>,
  state: Lines<Row>,
): RowType<Row> {
  return typeOf(table, keys, [...facts, ...state], [stateSum(facts, state)])
}

function stateSum({ length }: Lines<never>, state: Lines<never>): Sum {
  return { column: 'state_sum', from: length, to: length + state.length }
}

function typeOf<Row extends object>(
  table: string,
  keys: number,
  lines: Lines<Row>,
  sums: readonly Sum[],
): RowType<Row> {
  const columns = lines.map(([column, field, kind]) => ({ column, field, kind }))
  const blank = Object.fromEntries(columns.map(({ field }) => [field, null]))
  return { table, columns, keys, sums, blank: blank as Row }
}

const JOB_STATE: Lines<StateOfJob> = [
  ['status', 'status', 'text'],
  ['provider_id', 'providerId', 'text'],
  ['attempt', 'attempt', 'int'],
  ['retries', 'retries', 'int'],
  ['declines', 'declines', 'int'],
  ['worker_losses', 'workerLosses', 'int'],
  ['not_before', 'notBefore', 'int'],
  ['first_assigned_at', 'firstAssignedAt', 'int'],
  ['ended_at', 'endedAt', 'int'],
  ['reason', 'reason', 'text'],
  ['proof_awaited_since', 'proofAwaitedSince', 'int'],
  ['denials', 'denials', 'list'],
  ['released_at', 'releasedAt', 'int'],
]

const JOB_FACTS: Lines<JobRow> = [
  ['seq', 'seq', 'int'],
  ['id', 'id', 'id'],
  ['caller', 'caller', 'id'],
  ['tx_hash', 'txHash', 'id'],
  ['kind', 'kind', 'text'],
  ['tier', 'tier', 'text'],
  ['fee', 'fee', 'bigint'],
  ['size_bytes', 'sizeBytes', 'int'],
  ['model', 'model', 'text'],
  ['shots', 'shots', 'int'],
  ['depth_hint', 'depthHint', 'int'],
  ['units', 'units', 'int'],
  ['tokens', 'tokens', 'int'],
  ['regions', 'regions', 'json'],
  ['needs', 'needs', 'json'],
  ['ttl_abs_secs', 'ttlAbsSecs', 'int'],
  ['enqueue_ts', 'enqueueTs', 'int'],
  ['chain_id', 'chainId', 'bigint'],
  ['enqueue_height', 'enqueueHeight', 'bigint'],
  ['origin', 'origin', 'json'],
  ['options', 'options', 'json'],
]

export const JOB = changingType<JobRow>('jobs', 1, JOB_FACTS, JOB_STATE)

export const JOB_CHANGE = changeType<JobRow>('jobs', 1, JOB_FACTS.slice(0, 2), JOB_STATE)

export const PAYLOAD = rowType<{ readonly jobSeq: number; readonly payload: Uint8Array }>(
  'payloads',
  1,
  ['job', 'jobSeq', 'int'],
  ['payload', 'payload', 'bytes'],
)

const LEASE_STATE: Lines<StateOfLease> = [
  ['status', 'status', 'text'],
  ['t_deadline', 'tDeadline', 'int'],
  ['renewals', 'renewals', 'int'],
  ['is_acked', 'isAcked', 'bool'],
  ['digest', 'digest', 'id'],
  ['ack_timeout_ms', 'ackTimeoutMs', 'int'],
  ['worker_id', 'workerId', 'text'],
  ['timeout_at', 'timeoutAt', 'int'],
]

const LEASE_FACTS: Lines<LeaseRow> = [
  ['job', 'jobSeq', 'int'],
  ['attempt', 'attempt', 'int'],
  ['id', 'id', 'id'],
  ['job_id', 'jobId', 'id'],
  ['provider_id', 'providerId', 'text'],
  ['t_start', 'tStart', 'int'],
  ['epoch', 'epoch', 'int'],
  ['round', 'round', 'int'],
  ['length_ms', 'lengthMs', 'int'],
  ['renew_alpha', 'renewAlpha', 'int'],
  ['renew_beta', 'renewBeta', 'int'],
  ['renewals_max', 'renewalsMax', 'int'],
]

export const LEASE = changingType<LeaseRow>('leases', 2, LEASE_FACTS, LEASE_STATE)

export const LEASE_CHANGE = changeType<LeaseRow>('leases', 2, LEASE_FACTS.slice(0, 3), LEASE_STATE)

export const PROVIDER = rowType<ProviderRow>(
  'providers',
  1,
  ['id', 'id', 'text'],
  ['status', 'status', 'text'],
  ['capabilities', 'capabilities', 'json'],
  ['models', 'models', 'json'],
  ['platforms', 'platforms', 'json'],
  ['max_depth', 'maxDepth', 'int'],
  ['max_shots', 'maxShots', 'int'],
  ['max_width', 'maxWidth', 'int'],
  ['gates', 'gates', 'json'],
  ['precision', 'precision', 'json'],
  ['region', 'region', 'text'],
  ['allow', 'allow', 'json'],
  ['deny', 'deny', 'json'],
  ['leases_max', 'leasesMax', 'int'],
  ['stake', 'stake', 'bigint'],
  ['standing', 'standing', 'json'],
  ['public_key', 'publicKey', 'text'],
  ['attestation', 'attestation', 'json'],
  ['last_heartbeat', 'lastHeartbeat', 'int'],
  ['credited_at', 'creditedAt', 'int'],
  ['silent_steps', 'silentSteps', 'int'],
  ['health', 'health', 'int'],
  ['failures', 'failures', 'int'],
  ['cooldown_until', 'cooldownUntil', 'int'],
  ['class_cooldowns', 'classCooldowns', 'json'],
  ['units', 'units', 'json'],
  ['workers', 'workers', 'json'],
)

export const RESULT = rowType<ResultRow>(
  'results',
  1,
  ['job', 'jobSeq', 'int'],
  ['job_id', 'jobId', 'id'],
  ['caller', 'caller', 'id'],
  ['lease_id', 'leaseId', 'id'],
  ['provider_id', 'providerId', 'text'],
  ['digest', 'digest', 'id'],
  ['units', 'units', 'int'],
  ['at', 'at', 'int'],
  ['output', 'output', 'bytes'],
  ['content_type', 'contentType', 'text'],
  ['meta', 'meta', 'bytes'],
  ['claim', 'claim', 'json'],
)

export const FAILURE = rowType<FailureRow>(
  'failures',
  2,
  ['job', 'jobSeq', 'int'],
  ['attempt', 'attempt', 'int'],
  ['job_id', 'jobId', 'id'],
  ['at', 'at', 'int'],
  ['code', 'code', 'text'],
  ['message', 'message', 'text'],
  ['details', 'details', 'bytes'],
)

export const ROUND = rowType<RoundRow>(
  'rounds',
  2,
  ['height', 'height', 'int'],
  ['kind', 'kind', 'text'],
  ['at', 'at', 'int'],
  ['seed', 'seed', 'id'],
  ['batch_digest', 'batchDigest', 'id'],
  ['batch_size', 'batchSize', 'int'],
  ['match_order', 'order', 'text'],
  ['providers', 'providers', 'json'],
  ['ranks', 'ranks', 'json'],
  ['assignments', 'assignments', 'json'],
  ['refusals', 'refusals', 'json'],
)

export const SHARE = rowType<ShareRow & { readonly finish: bigint }>(
  'shares',
  2,
  ['kind', 'kind', 'text'],
  ['caller', 'caller', 'id'],
  ['finish', 'finish', 'bigint'],
)

export const LANE = rowType<KeyedRow & { readonly value: Uint8Array }>(
  'lanes',
  2,
  ['lane', 'lane', 'text'],
  ['key', 'key', 'text'],
  ['value', 'value', 'bytes'],
)

/** A settled epoch. */
export const SETTLEMENT = rowType<Omit<SettlementRow, 'parts'>>(
  'settlements',
  1,
  ['epoch_id', 'epochId', 'int'],
  ['batch_id', 'batchId', 'id'],
  ['at', 'at', 'int'],
  ['batch', 'batch', 'text'],
  ['policy', 'policy', 'text'],
  ['due', 'due', 'bytes'],
)

/** The lines of a provider in it. */
export const STORED_PART = rowType<SettlementPart & Pick<SettlementRow, 'epochId'>>(
  'settlement_parts',
  3,
  ['epoch_id', 'epochId', 'int'],
  ['provider_id', 'providerId', 'text'],
  ['part', 'part', 'int'],
  ['body', 'body', 'bytes'],
)

export const META = rowType<{ readonly name: string; readonly value: string }>(
  'meta',
  1,
  ['name', 'name', 'text'],
  ['value', 'value', 'text'],
)

/** The row about the store; see store-row.ts. */
export const STORE = rowType<StoredStore>(
  'store',
  0,
  ['id', 'id', 'bytes'],
  ['batch', 'batch', 'int'],
  ['is_clean', 'isClean', 'bool'],
  ['jobs', 'jobs', 'int'],
  ['leases', 'leases', 'int'],
  ['results', 'results', 'int'],
  ['journal_first', 'journalFirst', 'int'],
  ['journal_last', 'journalLast', 'int'],
  ['journal_before', 'journalBefore', 'bytes'],
  ['journal_hash', 'journalHash', 'bytes'],
  ['prune_ended', 'pruneEnded', 'int'],
  ['prune_results', 'pruneResults', 'int'],
  ['marks', 'marks', 'bytes'],
)

/** The types of whole rows. */
export const ROW_TYPES: readonly RowType<unknown>[] = [
  ...[JOB, PAYLOAD, LEASE, PROVIDER, RESULT, FAILURE, SHARE, LANE, ROUND],
  ...[SETTLEMENT, STORED_PART, META, STORE],
]

/** A provider is written with every batch that it has part in, and mostly with the same lists. */
const known = new WeakMap<object, string>()

export function jsonOf(value: unknown): string {
  const text = known.get(value as object)
  if (text !== undefined) return text
  const made = JSON.stringify(value)
  if (Array.isArray(value)) known.set(value, made)
  return made
}

/** The row of these cells, from a place on. */
export function rowOf<Row extends object>(
  { columns, blank }: RowType<Row>,
  cells: Cells,
  from = 0,
): Row {
  const row = { ...blank } as Record<string, unknown>
  for (let i = 0; i < columns.length; i++) {
    const { field, kind } = columns[i] as Column
    row[field] = valueIn(kind, cells[from + i] as SqlValue)
  }
  return row as Row
}

export type Cells = readonly SqlValue[]

function valueIn(kind: Kind, cell: SqlValue): unknown {
  if (cell === null) return kind === 'list' ? [] : null
  switch (kind) {
    case 'int':
      return cell
    case 'text':
      return typeof cell === 'string' ? cell : Buffer.from(cell as Uint8Array).toString('utf8')
    case 'id':
      return typeof cell === 'string' ? cell : toHex(cell as Uint8Array)
    case 'bigint':
      return bigintOf(cell as string)
    case 'bool':
      return cell === 1
    case 'bytes':
      // The memory may be the driver's, or that of a whole page of rows.
      return Uint8Array.from(cell as Uint8Array)
    case 'json':
    case 'list':
      return JSON.parse(cell as string)
  }
}

/** Many rows in a row have the same. */
let lastBigint = { text: '0', value: 0n }

function bigintOf(text: string): bigint {
  if (text !== lastBigint.text) lastBigint = { text, value: BigInt(text) }
  return lastBigint.value
}
