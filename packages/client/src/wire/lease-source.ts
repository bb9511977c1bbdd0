import {
  type CborMap,
  decodeCbor,
  FairleadError,
  fromHex,
  type LeaseFailure,
  type LeaseId,
  type LeaseListener,
  type LeaseOffer,
  type LeaseProgress,
  type LeaseResult,
  type LeaseSession,
  type LeaseSource,
  type LeaseTimes,
  type LostReason,
  type ProviderNotice,
  toHex,
  type WorkerHello,
} from '@fairlead/core'
import { jsonOf } from '@fairlead/core/internal'
import type { Assignment, NotificationOf, ResultOf } from '@fairlead/protocol'
import { connectionLost } from './lost.ts'
import { FrameLimit, RpcSocket } from './rpc-socket.ts'

export interface WireOptions {
  /** Of the WebSocket. */
  readonly url: string
  readonly token?: string | undefined
  /** How long opening or an answer may take before the line is given up. */
  readonly patienceMs?: number
}

/** Fields of payloads that are bytes: hex on the wire, and bytes for a handler. */
const BYTE_FIELDS = ['prompt', 'circuit'] as const

/** The leases of a server: each session is a WebSocket of its own. */
export class WireLeaseSource implements LeaseSource {
  readonly #options: WireOptions
  readonly #frames = new FrameLimit()

  constructor(options: WireOptions) {
    this.#options = options
  }

  async open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession> {
    const { providerId, workerId, slots, holds, offer } = hello
    const socket = await RpcSocket.open({
      ...this.#options,
      frames: this.#frames,
      onNotification: (method, params) => tell(listener, method, params),
    })
    const session = new WireSession(socket, hello, listener)
    try {
      const answer = await socket.call('aicf.pollLeases', {
        provider_id: providerId,
        worker_id: workerId,
        slots,
        holds,
        ...(offer === undefined ? {} : offerParams(offer)),
        push: true,
      })
      tellNotice(listener, answer as Partial<ResultOf<'aicf.pollLeases'>>)
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }
}

function offerParams({ kinds, models, platforms }: NonNullable<WorkerHello['offer']>): object {
  return { kinds, models, ...(platforms === undefined ? {} : { platforms }) }
}

/** What the server says by itself, in the words of the port. */
function tell(listener: LeaseListener, method: string, params: unknown): void {
  switch (method) {
    case 'leases.offered':
      for (const lease of (params as NotificationOf<'leases.offered'>).leases) {
        listener.offer(offerOf(lease))
      }
      return
    case 'leases.held':
      listener.held((params as NotificationOf<'leases.held'>).leases.map(timesOf))
      return
    case 'leases.lost':
      for (const { lease_id, reason } of (params as NotificationOf<'leases.lost'>).leases) {
        listener.lost(lease_id as LeaseId, reason as LostReason)
      }
      return
    case 'leases.notice':
      tellNotice(listener, params as NotificationOf<'leases.notice'>)
      return
    case 'leases.closed': {
      const { code, message, details } = (params as NotificationOf<'leases.closed'>).error
      listener.closed(new FairleadError(code, message, details))
    }
  }
}

/** An older server says nothing of it. */
function tellNotice(
  listener: LeaseListener,
  { notice }: { readonly notice?: ProviderNotice | null },
): void {
  if (notice !== undefined) listener.notice?.(notice)
}

function timesOf(lease: {
  readonly lease_id: string
  readonly at: number
  readonly renew_by: number
  readonly t_deadline: number
}): LeaseTimes {
  const { lease_id, at, renew_by, t_deadline } = lease
  return { leaseId: lease_id as LeaseId, at, renewBy: renew_by, deadline: t_deadline }
}

/** Field by field: one comes for every job, and spreads took a quarter of a worker's time. */
function offerOf(lease: Assignment): LeaseOffer {
  const offer: { -readonly [Field in keyof LeaseOffer]: LeaseOffer[Field] } = {
    leaseId: lease.lease_id,
    at: lease.at,
    renewBy: lease.renew_by,
    deadline: lease.t_deadline,
    jobId: lease.task_id,
    providerId: lease.provider_id,
    attempt: lease.attempt,
    kind: lease.kind,
    model: lease.model,
    payload: payloadOf(lease.payload as unknown as Record<string, unknown>),
    ackBy: lease.ack_by,
    tStart: lease.t_start,
    lengthMs: 1_000 * lease.ttl_seconds,
    renewalsMax: lease.max_renewals,
    traceparent: lease.traceparent,
  }
  if (lease.task !== undefined) offer.task = lease.task
  if (lease.rank !== undefined) offer.rank = lease.rank
  if (lease.idempotency_key !== undefined) offer.idempotencyKey = lease.idempotency_key
  return offer
}

/** In place: the message was made for us alone. */
function payloadOf(written: Record<string, unknown>): CborMap {
  for (const name of BYTE_FIELDS) {
    const hex = written[name]
    if (typeof hex === 'string') written[name] = fromHex(hex) ?? hex
  }
  return written as CborMap
}

/** One connection of one worker. Once it is over, each of its calls says so. */
class WireSession implements LeaseSession {
  readonly #socket: RpcSocket
  readonly #worker: { readonly provider_id: string; readonly worker_id: string }

  constructor(socket: RpcSocket, { providerId, workerId }: WorkerHello, listener: LeaseListener) {
    this.#socket = socket
    this.#worker = { provider_id: providerId, worker_id: workerId }
    void socket.closed.then((error) => {
      if (error !== null) listener.closed(retryable(error))
    })
  }

  async ack(leaseId: LeaseId): Promise<void> {
    await this.#call('aicf.ackLease', leaseId)
  }

  async progress(leaseId: LeaseId, { percent, message, log }: LeaseProgress): Promise<void> {
    await this.#socket.call('aicf.reportProgress', {
      provider_id: this.#worker.provider_id,
      worker_id: this.#worker.worker_id,
      lease_id: leaseId,
      percent,
      message,
      log: log && [...log],
    })
  }

  async renew(leaseId: LeaseId): Promise<LeaseTimes> {
    const { at, lease } = (await this.#call(
      'aicf.renewLease',
      leaseId,
    )) as ResultOf<'aicf.renewLease'>
    return timesOf({ ...lease, at })
  }

  async decline(leaseId: LeaseId): Promise<void> {
    await this.#call('aicf.declineLease', leaseId)
  }

  async release(leaseId: LeaseId): Promise<void> {
    await this.#call('aicf.releaseLease', leaseId)
  }

  async complete(leaseId: LeaseId, result: LeaseResult): Promise<void> {
    const { output, contentType, digest, meta, actualUnits, actualTokens } = result
    // Field by field, as for offers; what is undefined is not written.
    await this.#socket.call('aicf.completeLease', {
      provider_id: this.#worker.provider_id,
      worker_id: this.#worker.worker_id,
      lease_id: leaseId,
      output: output && toHex(output),
      content_type: contentType,
      output_digest: digest,
      meta: meta && jsonOf(decodeCbor(meta)),
      actual_units: actualUnits,
      actual_tokens: actualTokens,
    })
  }

  async fail(leaseId: LeaseId, failure: LeaseFailure): Promise<void> {
    const { code, permanent, message, details, retryAfterMs } = failure
    const { http, isUnknown, isUnsent, sentAfterMs, lookup } = failure
    await this.#call('aicf.failLease', leaseId, {
      code,
      permanent,
      ...(message === undefined ? {} : { message }),
      ...(details === undefined ? {} : { details: jsonOf(decodeCbor(details)) }),
      ...(http === undefined ? {} : { http }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
      ...(isUnknown === undefined ? {} : { is_unknown: isUnknown }),
      ...(isUnsent === undefined ? {} : { is_unsent: isUnsent }),
      ...(sentAfterMs === undefined ? {} : { sent_after_ms: sentAfterMs }),
      ...(lookup === undefined ? {} : { lookup }),
    })
  }

  async setSlots(slots: number): Promise<void> {
    await this.#socket.call('aicf.heartbeat', { ...this.#worker, slots })
  }

  async heartbeat(): Promise<void> {
    await this.#socket.call('aicf.heartbeat', { provider_id: this.#worker.provider_id })
  }

  async close(): Promise<void> {
    await this.#socket.close()
  }

  #call(method: string, leaseId: LeaseId, more: object = {}): Promise<unknown> {
    return this.#socket.call(method, { ...this.#worker, lease_id: leaseId, ...more })
  }
}

/** A server that lets nobody in any more may do so later; a worker goes on trying while it has work. */
function retryable(error: FairleadError): FairleadError {
  return error.retryable ? error : connectionLost(error.message)
}
