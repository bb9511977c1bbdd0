import {
  type CborMap,
  encodeCbor,
  FairleadError,
  type LeaseId,
  type WorkerId,
} from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import { leaseRecord } from '../records/lease-record.ts'
import { type Call, type Handlers, providerOf, type Services } from '../rpc/call.ts'

const ACCEPTED = { accepted: true } as const

export const ackLease: Handlers['aicf.ackLease'] = async (params, call, services) => {
  await services.engine.ack(holderOf(params, call, services))
  return ACCEPTED
}

export const renewLease: Handlers['aicf.renewLease'] = async (params, call, services) => {
  const { engine } = services
  const { at } = await engine.renew(holderOf(params, call, services))
  const row = await engine.view.read.lease(params.lease_id)
  if (row === null) throw noSuchLease(params.lease_id)
  return { at, lease: leaseRecord(row) }
}

export const reportProgress: Handlers['aicf.reportProgress'] = async (params, call, services) => {
  const { percent, message, log } = params
  const holder = holderOf(params, call, services)
  await services.engine.progress.report({ ...holder, percent, message, log })
  return ACCEPTED
}

export const declineLease: Handlers['aicf.declineLease'] = async (params, call, services) => {
  await services.engine.decline(holderOf(params, call, services))
  return ACCEPTED
}

export const releaseLease: Handlers['aicf.releaseLease'] = async (params, call, services) => {
  await services.engine.release(holderOf(params, call, services))
  return ACCEPTED
}

export const completeLease: Handlers['aicf.completeLease'] = async (params, call, services) => {
  const { output_digest: digest, output, content_type: contentType, meta } = params
  const { actual_units: actualUnits, actual_tokens: actualTokens } = params
  const completion: Writable<Completion> = holderOf(params, call, services)
  if (digest !== undefined) completion.digest = digest
  if (output !== undefined) completion.output = Buffer.from(output.slice(2), 'hex')
  if (contentType !== undefined) completion.contentType = contentType
  if (meta !== undefined) completion.meta = encoded('meta', meta)
  if (actualUnits !== undefined) completion.actualUnits = actualUnits
  if (actualTokens !== undefined) completion.actualTokens = actualTokens
  await services.engine.complete(completion)
  return ACCEPTED
}

type Completion = Parameters<Services['engine']['complete']>[0]
type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

export const failLease: Handlers['aicf.failLease'] = async (params, call, services) => {
  const { code = 'error', permanent = false, message, details, http, lookup } = params
  const { retry_after_ms: retryAfterMs } = params
  await services.engine.fail({
    ...holderOf(params, call, services),
    code,
    permanent,
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details: encoded('details', details) }),
    ...(http === undefined ? {} : { http }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(params.is_unknown === undefined ? {} : { isUnknown: params.is_unknown }),
    ...(params.is_unsent === undefined ? {} : { isUnsent: params.is_unsent }),
    ...(params.sent_after_ms === undefined ? {} : { sentAfterMs: params.sent_after_ms }),
    ...(lookup === undefined ? {} : { lookup }),
  })
  return ACCEPTED
}

export const pollLeases: Handlers['aicf.pollLeases'] = (params, call, services) => {
  const { worker_id: workerId, slots, holds = null, wait_ms, push = false } = params
  const providerId = providerOf(call, params.provider_id)
  services.pulse.beat(providerId)
  const { kinds, models, platforms } = params
  const isOffer = kinds !== undefined || models !== undefined || platforms !== undefined
  const hello = {
    providerId,
    workerId,
    slots,
    holds,
    ...(isOffer
      ? { offer: { kinds: kinds ?? [], models: models ?? ['*'], platforms: platforms ?? [] } }
      : {}),
  }
  if (!push) {
    const { identity, signal } = call
    return services.polls.poll(hello, { identity, waitMs: wait_ms ?? 30_000, signal })
  }
  if (call.socket === null) {
    throw new FairleadError('InvalidState', 'push: it needs a WebSocket; connect to /ws', {
      field: 'push',
    })
  }
  return call.socket.serve(hello, services)
}

function encoded(field: string, object: Readonly<Record<string, unknown>>): Uint8Array {
  try {
    return encodeCbor(object as CborMap)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    throw invalidParams(field, 'values with a canonical encoding', error.message)
  }
}

/** Who acts: the provider of the token, and the worker that the call names. */
function holderOf(
  params: {
    lease_id: LeaseId
    provider_id?: Parameters<typeof providerOf>[1]
    worker_id?: WorkerId | undefined
  },
  call: Call,
  { polls, pulse }: Services,
) {
  const { lease_id: leaseId, provider_id, worker_id: workerId } = params
  const by = providerOf(call, provider_id)
  pulse.beat(by)
  if (workerId !== undefined) polls.touch(by, workerId)
  return { leaseId, by, workerId }
}

function noSuchLease(leaseId: LeaseId): FairleadError {
  return new FairleadError('NotFound', `there is no lease ${leaseId}`, { leaseId })
}
