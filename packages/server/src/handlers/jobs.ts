import { FairleadError, type JobId, type JobOrigin, showU64 } from '@fairlead/core'
import { auditRecord } from '../records/audit-record.ts'
import { explanationRecord } from '../records/explanation-record.ts'
import { jobRecord, jobSummary, resultRecord } from '../records/job-record.ts'
import {
  actingAs,
  type Call,
  type Handlers,
  ownCaller,
  requireOwnJob,
  type Services,
} from '../rpc/call.ts'

export const enqueue: Handlers['aicf.enqueue'] = async (params, call, { engine }) => {
  const { schema_version: _, retry_of: retryOf, traceparent: traced, ...request } = params
  const caller = ownCaller(call)
  if (retryOf !== undefined) {
    const first = await engine.getJob(retryOf)
    requireOwnJob(call, first.caller, retryOf)
  }
  const by = { caller, tier: call.identity.tier }
  const jobId = await engine.enqueue(request, by, originOf(retryOf, traced ?? call.traceparent))
  // A job that is still in memory need not be read; one that was enqueued before may have ended.
  const known = engine.view.job(jobId)
  const row = known === null ? await engine.getJob(jobId) : null
  const { kind, fee } = known ?? (row as NonNullable<typeof row>)
  const height = row?.enqueueHeight ?? BigInt(Math.floor((known?.enqueueTs ?? 0) / 1_000))
  return {
    schema_version: 0,
    task_id: jobId,
    enqueue_block: showU64(height),
    caller,
    kind,
    max_fee_u64: showU64(fee),
    accepted: true,
  }
}

function originOf(retryOf: JobId | undefined, traceparent: string | null): JobOrigin | null {
  if (retryOf === undefined && traceparent === null) return null
  return {
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(traceparent === null ? {} : { traceparent }),
  }
}

export const getJob: Handlers['aicf.getJob'] = async ({ task_id }, call, { engine, signup }) => {
  const { read } = engine.view
  const row = await ownJob(task_id, call, engine)
  const [[payload], leases, timeline, result] = await Promise.all([
    read.payloads([row.seq]),
    read.leases(task_id),
    read.timeline(task_id),
    read.result(task_id),
  ])
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
    payload: payload == null ? EMPTY_MAP : isPrivate ? signup.withoutPeople(payload) : payload,
    lease: leases.at(-1) ?? null,
    timeline,
    waitReason,
  })
  return {
    task_id,
    status: row.status,
    job,
    result: result === null ? null : resultRecord(result, row.kind),
  }
}

/** The payload of a job that was deleted while it was read. */
const EMPTY_MAP = new Uint8Array([0xa0])

export const listJobs: Handlers['aicf.listJobs'] = async (params, call, { engine }) => {
  const { status, kind, provider_id, caller, after_height, order, cursor, limit } = params
  const own = call.identity.role === 'requester' ? ownCaller(call) : undefined
  if (own !== undefined && caller !== undefined && caller !== own) {
    throw new FairleadError('Forbidden', 'caller: a requester lists its own jobs only', { caller })
  }
  const wanted = own ?? caller
  const { jobs, cursor: next } = await engine.listJobs({
    ...(status === undefined ? {} : { status }),
    ...(kind === undefined ? {} : { kind }),
    ...(provider_id === undefined ? {} : { providerId: provider_id }),
    ...(wanted === undefined ? {} : { caller: wanted }),
    ...(after_height === undefined ? {} : { afterHeight: BigInt(after_height) }),
    ...(order === undefined ? {} : { order }),
    ...(cursor === undefined ? {} : { cursor: Number(cursor) }),
    ...(limit === undefined ? {} : { limit }),
  })
  return { jobs: jobs.map(jobSummary), cursor: next === null ? null : String(next) }
}

export const getResult: Handlers['aicf.getResult'] = async ({ task_id }, call, { engine }) => {
  // A result outlives its job; whose it was is then known to nobody but operators.
  const row = await engine.view.read.job(task_id)
  if (row !== null) requireOwnJob(call, row.caller, task_id)
  else if (call.identity.role === 'requester') throw noSuchJob(task_id)
  return resultRecord(await engine.getResult(task_id), row?.kind ?? null)
}

export const cancelJob: Handlers['aicf.cancelJob'] = async ({ task_id }, call, { engine }) => {
  const by = call.identity.role === 'requester' ? ownCaller(call) : 'operator'
  await engine.cancel(task_id, by, actingAs(call))
  // What has ended is not in memory any more; the cancel of a registration may only be noted.
  const hasEnded = engine.view.job(task_id) === null
  return { task_id, status: hasEnded ? 'CANCELED' : (await engine.getJob(task_id)).status }
}

export const explainJob: Handlers['aicf.explainJob'] = async ({ task_id }, call, { engine }) => {
  await ownJob(task_id, call, engine)
  return explanationRecord(await engine.explain(task_id))
}

export const getTimeline: Handlers['aicf.getTimeline'] = async ({ task_id }, call, { engine }) => {
  await ownJob(task_id, call, engine)
  const entries = await engine.view.read.timeline(task_id)
  return { task_id, entries: entries.map(auditRecord) }
}

async function ownJob(jobId: JobId, call: Call, engine: Services['engine']) {
  const row = await engine.getJob(jobId)
  requireOwnJob(call, row.caller, jobId)
  return row
}

function noSuchJob(jobId: JobId): FairleadError {
  return new FairleadError('NotFound', `there is no job ${jobId}`, { id: jobId })
}
