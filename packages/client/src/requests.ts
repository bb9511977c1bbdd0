import type { ParamsOf, PayloadOf } from '@fairlead/protocol'
import { hexOf } from './wire/hex.ts'

/** Bytes may be given as they are, or as `0x` hex. */
type WithBytes<T, Field extends keyof T> = Omit<T, Field> & {
  readonly [F in Field]: Uint8Array | `0x${string}`
}

/** What each kind of job is to do, as a requester writes it. */
export interface RequestPayloads {
  readonly ai: WithBytes<PayloadOf<'ai'>, 'prompt'>
  readonly quantum: WithBytes<PayloadOf<'quantum'>, 'circuit'>
  readonly task: PayloadOf<'task'>
  readonly registration: PayloadOf<'registration'>
}

type Kind = keyof RequestPayloads

/** What may be said beside the work itself; the names are those of the wire. */
export type EnqueueOptions = Omit<ParamsOf<'aicf.enqueue'>, 'kind' | 'payload' | 'schema_version'>

/** A job to be enqueued. */
export type EnqueueRequest = {
  [Each in Kind]: { readonly kind: Each; readonly payload: RequestPayloads[Each] }
}[Kind] &
  EnqueueOptions

/** The request as it goes over the wire: always with a key, so that it can be asked again. */
export function enqueueParams(request: EnqueueRequest): ParamsOf<'aicf.enqueue'> {
  const payload = withHex(request.payload)
  if (request.idempotency_key !== undefined || request.tx_hash !== undefined) {
    return { ...request, payload } as unknown as ParamsOf<'aicf.enqueue'>
  }
  return { ...request, idempotency_key: newKey(), payload } as unknown as ParamsOf<'aicf.enqueue'>
}

/** The same with bytes as JSON has them. */
function withHex(payload: object): object {
  const written: Record<string, unknown> = { ...payload }
  for (const name of Object.keys(written)) {
    const value = written[name]
    if (value instanceof Uint8Array) written[name] = hexOf(value)
  }
  return written
}

/** Text as its bytes. */
export function bytesOfText(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? new TextEncoder().encode(text) : text
}

/** Random once and counted on: a draw for each request would cost more than the rest of it. */
const KEY_PREFIX = hexOf(globalThis.crypto.getRandomValues(new Uint8Array(16))).slice(2)
let keys = 0

/** Under which a request can be asked again. */
export function newKey(): string {
  return `sdk-${KEY_PREFIX}-${++keys}`
}
