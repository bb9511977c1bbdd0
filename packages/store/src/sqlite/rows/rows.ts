import type { FailureRow, JobRow, LeaseRow, ResultRow } from '@fairlead/core'
import { toHex } from '@fairlead/core'
import type {
  KeyedRow,
  ProviderRow,
  RoundRow,
  SettlementHead,
  SettlementPart,
  SettlementRow,
  ShareRow,
  JobState as StateOfJob,
  LeaseState as StateOfLease,
} from '@fairlead/core/internal'
import type { SqlValue } from '../driver.ts'
import type { CellWriter } from './cell-codec.ts'

/**
 * The one place where a column becomes a field. The cells of a row on its way to the writer, the parameters of its
 * statement and the row that a read returns all follow from these lists.
 *
 * - `id`: 0x and 64 digits, stored as 32 bytes
 * - `text`: any text. A driver may cut text at U+0000, so text that contains it is stored as bytes.
 * - `json`: lists and records; `list`: a list, stored as NULL if it is empty
 * - `bigint`: decimal text, because the integers of SQLite end at 2^63
 */
type Kind = 'id' | 'int' | 'text' | 'json' | 'list' | 'bigint' | 'bool' | 'bytes'

export interface Column {
  readonly column: string
  readonly field: string
  readonly kind: Kind
}

/** Columns in the order of their table. */
export interface RowType<Row> {
  readonly columns: readonly Column[]
  /** All fields in their order, so that each row is made with its final shape. */
  readonly blank: Row
}

type Lines<Row> = readonly (readonly [column: string, field: keyof Row & string, kind: Kind])[]

function rowType<Row extends object>(...lines: Lines<Row>): RowType<Row> {
  const columns = lines.map(([column, field, kind]) => ({ column, field, kind }))
  const blank = Object.fromEntries(columns.map(({ field }) => [field, null]))
  return { columns, blank: blank as Row }
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
]

export const JOB = rowType<JobRow>(
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
  ...JOB_STATE,
)

/** A change of a job: its number and id find it, the rest is what became of it. */
export const JOB_CHANGE = rowType<StateOfJob & Pick<JobRow, 'seq' | 'id'>>(
  ['seq', 'seq', 'int'],
  ['id', 'id', 'id'],
  ...JOB_STATE,
)

const LEASE_STATE: Lines<StateOfLease> = [
  ['status', 'status', 'text'],
  ['t_deadline', 'tDeadline', 'int'],
  ['renewals', 'renewals', 'int'],
  ['is_acked', 'isAcked', 'bool'],
  ['digest', 'digest', 'id'],
  ['ack_timeout_ms', 'ackTimeoutMs', 'int'],
  ['worker_id', 'workerId', 'text'],
]

export const LEASE = rowType<LeaseRow>(
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
  ...LEASE_STATE,
)

/** A change of a lease: its job, attempt and id find it. */
export const LEASE_CHANGE = rowType<StateOfLease & Pick<LeaseRow, 'jobSeq' | 'attempt' | 'id'>>(
  ['job', 'jobSeq', 'int'],
  ['attempt', 'attempt', 'int'],
  ['id', 'id', 'id'],
  ...LEASE_STATE,
)

export const PROVIDER = rowType<ProviderRow>(
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
  ['job', 'jobSeq', 'int'],
  ['attempt', 'attempt', 'int'],
  ['job_id', 'jobId', 'id'],
  ['at', 'at', 'int'],
  ['code', 'code', 'text'],
  ['message', 'message', 'text'],
  ['details', 'details', 'bytes'],
)

export const ROUND = rowType<RoundRow>(
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
  ['kind', 'kind', 'text'],
  ['caller', 'caller', 'id'],
  ['finish', 'finish', 'bigint'],
)

export const LANE = rowType<KeyedRow & { readonly value: Uint8Array }>(
  ['lane', 'lane', 'text'],
  ['key', 'key', 'text'],
  ['value', 'value', 'bytes'],
)

const SETTLEMENT_HEAD_LINES: Lines<SettlementHead> = [
  ['epoch_id', 'epochId', 'int'],
  ['batch_id', 'batchId', 'id'],
  ['at', 'at', 'int'],
  ['batch', 'batch', 'text'],
  ['policy', 'policy', 'text'],
]

/** A settled epoch without its lines. */
export const SETTLEMENT_HEAD = rowType<SettlementHead>(...SETTLEMENT_HEAD_LINES)

export const SETTLEMENT = rowType<Omit<SettlementRow, 'parts'>>(...SETTLEMENT_HEAD_LINES, [
  'due',
  'due',
  'bytes',
])

const SETTLEMENT_PART_LINES: Lines<SettlementPart> = [
  ['provider_id', 'providerId', 'text'],
  ['part', 'part', 'int'],
  ['body', 'body', 'bytes'],
]

export const SETTLEMENT_PART = rowType<SettlementPart>(...SETTLEMENT_PART_LINES)

/** The same with the epoch that it is of. */
export const STORED_PART = rowType<SettlementPart & Pick<SettlementRow, 'epochId'>>(
  ['epoch_id', 'epochId', 'int'],
  ...SETTLEMENT_PART_LINES,
)

export const META = rowType<{ readonly name: string; readonly value: string }>(
  ['name', 'name', 'text'],
  ['value', 'value', 'text'],
)

/** Writes the cells of a row. */
export function putRow(to: CellWriter, { columns }: RowType<unknown>, row: object): void {
  for (const { field, kind } of columns) {
    putCell(to, kind, (row as Readonly<Record<string, unknown>>)[field])
  }
}

function putCell(to: CellWriter, kind: Kind, value: unknown): void {
  if (value === null) return to.null()
  switch (kind) {
    case 'int':
      return to.number(value as number)
    case 'text':
      return to.text(value as string)
    case 'id':
      // A hash that the engine drew comes as bytes.
      return typeof value === 'string' ? to.id(value) : to.idBytes(value as Uint8Array)
    case 'bigint':
      return to.text((value as bigint).toString())
    case 'bool':
      return to.number(value === true ? 1 : 0)
    case 'bytes':
      return to.bytes(value as Uint8Array)
    case 'json':
      return to.text(jsonOf(value))
    case 'list':
      return (value as readonly unknown[]).length === 0 ? to.null() : to.text(JSON.stringify(value))
  }
}

/** A provider is written with every batch that it has part in, and mostly with the same lists. */
const known = new WeakMap<object, string>()

function jsonOf(value: unknown): string {
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
