/** The messages of JSON-RPC 2.0, as both sides of a wire know them. */

/** What a server takes in one message, as long as its owner has not said otherwise (LIMITS-1). */
export const MESSAGE_BYTES_MAX = 2 * 1_024 * 1_024

export type RpcId = string | number | null

export interface RpcRequest {
  readonly jsonrpc: '2.0'
  /** Left out, it is a notification: nobody waits for an answer. */
  readonly id?: RpcId
  readonly method: string
  readonly params?: unknown
}

export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export interface RpcResult {
  readonly jsonrpc: '2.0'
  readonly id: RpcId
  readonly result: unknown
}

export interface RpcFailure {
  readonly jsonrpc: '2.0'
  readonly id: RpcId
  readonly error: RpcErrorObject
}

export type RpcResponse = RpcResult | RpcFailure

/** A well-formed call, or null. Unknown members are the caller's affair: the standard forbids none. */
export function readRequest(written: unknown): RpcRequest | null {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return null
  const { jsonrpc, id, method, params } = written as Record<string, unknown>
  if (jsonrpc !== '2.0' || typeof method !== 'string') return null
  if (id !== undefined && !isRpcId(id)) return null
  if (params !== undefined && (typeof params !== 'object' || params === null)) return null
  return written as RpcRequest
}

/** The id of something that may be no request at all; null where it has none (RPC-2). */
export function idOf(written: unknown): RpcId {
  if (typeof written !== 'object' || written === null) return null
  const { id } = written as { id?: unknown }
  return isRpcId(id) ? id : null
}

/** Params by name, or as one object in an array; undefined is none, null is neither (RPC-3). */
export function namedParams(params: unknown): Readonly<Record<string, unknown>> | null {
  if (params === undefined) return {}
  if (!Array.isArray(params)) return params as Record<string, unknown>
  if (params.length === 0) return {}
  const [only] = params as unknown[]
  if (params.length > 1 || typeof only !== 'object' || only === null || Array.isArray(only)) {
    return null
  }
  return only as Record<string, unknown>
}

function isRpcId(id: unknown): id is RpcId {
  return id === null || typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
}
