import {
  FairleadError,
  hasEnded,
  type JobId,
  type JobOrigin,
  type JobRow,
  type ResultRow,
} from '@fairlead/core'
import { isErased, isUnreadable, resultWithoutPeople, showU64 } from '@fairlead/core/internal'
import { type ClaimStatus, type Engine, isRetryable } from '@fairlead/engine'
import type { JobReceipt, MethodName, ProofClaim, ResultOf } from '@fairlead/protocol'
import { auditRecord } from '../records/audit-record.ts'
import { claimOfResult, claimRecord } from '../records/claim-record.ts'
import { explanationRecord } from '../records/explanation-record.ts'
import { errorRecord, jobRecord, jobSummary, resultRecord } from '../records/job-record.ts'
import { spanRecords } from '../records/span-record.ts'
import {
  actingAs,
  type Call,
  type Handlers,
  hasChain,
  noteRead,
  ownCaller,
  requireOwnJob,
  requireReadable,
  type Services,
} from '../rpc/call.ts'
import { filterOf } from './job-filter.ts'
import { refuseOwnName } from './own-names.ts'
import { mayCall } from './whoami.ts'

export const enqueue: Handlers['aicf.enqueue'] = async (params, call, services) => {
  const { engine, heap } = services
  heap.refuseWhenFull()
  refuseOwnName(params)
  const { retry_of: retryOf, traceparent: traced, ...request } = params
  if (retryOf !== undefined) {
    const first = await engine.getJob(retryOf)
    requireOwnJob(call, first.caller, retryOf)
  }
  const { role, tier } = call.identity
  const isOperator = role === 'operator' || role === 'admin'
  const by = { caller: ownCaller(call), tier, isOperator }
  const origin = originOf(retryOf, traced ?? call.traceparent)
  const { jobId, isDuplicate } = await engine.accept(request, by, origin)
  return {
    schema_version: 0,
    task_id: jobId,
    accepted: true,
    ...(isDuplicate ? { deduplicated: true as const } : {}),
    ...(await receiptOf(jobId, params, services, call)),
  }
}

/** Of the first request under the same key, of which the job may have ended, or be gone but for its result. */
async function receiptOf(
  jobId: JobId,
  params: Parameters<typeof enqueue>[0],
  { engine }: Services,
  call: Call,
): Promise<Pick<JobReceipt, 'enqueue_block' | 'caller' | 'kind' | 'max_fee_u64'>> {
  // A job that is still in memory need not be read.
  const known = params.enqueue_block === undefined ? engine.view.job(jobId) : null
  const row = known === null ? await engine.view.read.job(jobId) : null
  if (known === null && row === null) {
    const { kind, enqueue_block = 0, caller = ownCaller(call), max_fee_u64 = 0 } = params
    const kindName = kind === 0 ? 'ai' : kind === 1 ? 'quantum' : kind
    return { enqueue_block, caller, kind: kindName, max_fee_u64 }
  }
  const { kind, fee, caller } = known ?? (row as NonNullable<typeof row>)
  const height = row?.enqueueHeight ?? BigInt(Math.floor((known?.enqueueTs ?? 0) / 1_000))
  return { enqueue_block: showU64(height), caller, kind, max_fee_u64: showU64(fee) }
}

function originOf(retryOf: JobId | undefined, traceparent: string | null): JobOrigin | null {
  if (retryOf === undefined && traceparent === null) return null
  return {
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(traceparent === null ? {} : { traceparent }),
  }
}

export const getJob: Handlers['aicf.getJob'] = async (params, call, services) => {
  const { task_id, payload: isWanted = true } = params
  const { engine, signup } = services
  const { read } = engine.view
  // Asked for in one turn, so that the status and the last error are of one moment.
  const [row, leases, timeline, failures, result, claim] = await Promise.all([
    readableJob(task_id, call, 'aicf.getJob', services),
    read.leases(task_id),
    read.timeline(task_id),
    read.failures(task_id),
    read.result(task_id),
    engine.fund.claimOf(task_id),
  ])
  const [payload] = await read.payloads([row.seq])
  const waitReason =
    row.proofAwaitedSince !== null
      ? 'proof'
      : row.status === 'QUEUED'
        ? engine.view.waitReason(task_id)
        : null
  // Whom a registration is for is told to whoever scheduled it, and to nobody else (SIGNUP-5).
  const isPrivate = row.kind === 'registration' && row.caller !== ownCaller(call)
  const job = jobRecord({
    row,
    payload:
      payload == null || !isWanted
        ? EMPTY_MAP
        : isPrivate
          ? signup.withoutPeople(payload)
          : payload,
    lease: leases.at(-1) ?? null,
    timeline,
    failures,
    waitReason,
    progress: engine.progress.of(task_id),
  })
  return {
    task_id,
    status: row.status,
    job,
    claim: shownClaim(claim, result, engine),
    result:
      result === null
        ? null
        : { ...shownResult(result, row.kind, isPrivate), ...(isWanted ? {} : NO_OUTPUT) },
    actions: actionsOn(row, payload ?? null, claim, call),
  }
}

const NO_OUTPUT = { output: null, meta: null }

/** What may be done with a job now, by its state and by who asks. */
function actionsOn(
  row: JobRow,
  payload: Uint8Array | null,
  claim: ClaimStatus | null,
  { identity }: Call,
): ResultOf<'aicf.getJob'>['actions'] {
  const may = (name: MethodName) => mayCall(identity, name)
  const isGone = payload === null || isErased(payload) || isUnreadable(payload)
  return [
    ...(!hasEnded(row.status) && claim === null && may('aicf.cancelJob') ? CANCEL : []),
    ...(isRetryable(row) && !isGone && may('aicf.retryJobs') ? RETRY : []),
  ]
}

const CANCEL = ['cancel'] as const
const RETRY = ['retry'] as const

/** PENDING in memory, or FINAL in the result; the result may have been read a moment before the claim was final. */
function shownClaim(
  found: ClaimStatus | null,
  result: ResultRow | null,
  engine: Engine,
): ProofClaim | null {
  if (found?.status === 'PENDING') return claimRecord(found.claim, null, hasChain(engine))
  if (found === null || result === null) return null
  return claimOfResult(result, found.claim, hasChain(engine))
}

/** The payload of a job that was deleted while it was read. */
const EMPTY_MAP = new Uint8Array([0xa0])

export const listJobs: Handlers['aicf.listJobs'] = async (params, call, services) => {
  const { engine } = services
  const { order, cursor, limit, ...filter } = params
  const { caller } = filter
  const own = call.identity.role === 'requester' ? ownCaller(call) : undefined
  if (own !== undefined && caller !== undefined && caller !== own) {
    throw new FairleadError('Forbidden', 'caller: a requester lists its own jobs only', { caller })
  }
  const wanted = own ?? caller
  const { jobs, cursor: next } = await engine.listJobs({
    ...filterOf({ ...filter, caller: wanted }),
    ...(order === undefined ? {} : { order }),
    ...(cursor === undefined ? {} : { cursor: Number(cursor) }),
    ...(limit === undefined ? {} : { limit }),
  })
  const callers = jobs.map((job) => job.caller)
  noteRead(call, 'aicf.listJobs', callers, services)
  return { jobs: jobs.map(jobSummary), cursor: next === null ? null : String(next) }
}

export const getResult: Handlers['aicf.getResult'] = async ({ task_id }, call, services) => {
  const { engine } = services
  const row = await engine.view.read.job(task_id)
  if (row !== null) requireOwnJob(call, row.caller, task_id)
  // A result may outlive its job, and says whose it is.
  const result = await engine.getResult(task_id)
  const owner = row?.caller ?? result.caller
  const method = 'aicf.getResult'
  if (owner !== null) requireReadable(call, { caller: owner, jobId: task_id, method }, services)
  else if (call.identity.role === 'requester') throw noSuchJob(task_id)
  const kind = row?.kind ?? null
  return shownResult(result, kind, kind === 'registration' && owner !== ownCaller(call))
}

/** Of somebody else's registration, as of its payload: how it ended, and no booking number (SIGNUP-5). */
function shownResult(result: ResultRow, kind: JobRow['kind'] | null, isPrivate: boolean) {
  return resultRecord(isPrivate ? { ...result, ...resultWithoutPeople(result) } : result, kind)
}

export const cancelJob: Handlers['aicf.cancelJob'] = async ({ task_id }, call, { engine }) => {
  const by = call.identity.role === 'requester' ? ownCaller(call) : 'operator'
  await engine.cancel(task_id, by, actingAs(call))
  // What has ended is not in memory any more; the cancel of a registration may only be noted.
  const hasEnded = engine.view.job(task_id) === null
  return { task_id, status: hasEnded ? 'CANCELED' : (await engine.getJob(task_id)).status }
}

export const explainJob: Handlers['aicf.explainJob'] = async ({ task_id }, call, services) => {
  const { engine } = services
  await readableJob(task_id, call, 'aicf.explainJob', services)
  return explanationRecord(await engine.explain(task_id))
}

export const getTimeline: Handlers['aicf.getTimeline'] = async ({ task_id }, call, services) => {
  const { engine } = services
  const { read } = engine.view
  // Asked for in one turn, so that they are of one moment.
  const [row, leases, entries, failures] = await Promise.all([
    readableJob(task_id, call, 'aicf.getTimeline', services),
    read.leases(task_id),
    read.timeline(task_id),
    read.failures(task_id),
  ])
  const now = Math.max(Date.now(), engine.view.now)
  return {
    task_id,
    entries: entries.map(auditRecord),
    at: now,
    spans: spanRecords({ row, leases, timeline: entries, now }),
    errors: failures.map(errorRecord),
  }
}

export const getLogs: Handlers['aicf.getLogs'] = async ({ task_id, attempt }, call, services) => {
  await readableJob(task_id, call, 'aicf.getLogs', services)
  const logs = services.engine.progress.logs(task_id)
  const wanted = attempt === undefined ? logs : logs.filter((log) => log.attempt === attempt)
  return {
    task_id,
    attempts: wanted.map(({ attempt: number, dropped, lines, progress }) => ({
      attempt: number,
      dropped,
      lines: lines.map(({ at, text }) => ({ at, text })),
      progress,
    })),
  }
}

async function readableJob(jobId: JobId, call: Call, method: MethodName, services: Services) {
  const row = await services.engine.getJob(jobId)
  requireReadable(call, { caller: row.caller, jobId, method }, services)
  return row
}

function noSuchJob(jobId: JobId): FairleadError {
  return new FairleadError('NotFound', `there is no job ${jobId}`, { id: jobId })
}
