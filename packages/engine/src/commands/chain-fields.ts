import { type Caller, FairleadError, fromHex, type KindName, toHex } from '@fairlead/core'
import { invalidParams, isHex32, readU64 } from '@fairlead/core/internal'

/** The kinds by their numbers in the JobRequest of a chain. */
const KIND_NUMBERS: readonly KindName[] = ['ai', 'quantum']

/**
 * Takes the fields of a chain out of a request: `caller`, `enqueue_block` and a numeric `kind`. A requester that
 * is no operator may name only itself as caller, and no block (ENQUEUE-17).
 */
export function readChainFields(
  request: Readonly<Record<string, unknown>>,
  by: { readonly caller: Caller; readonly isOperator?: boolean },
): {
  readonly caller: Caller
  readonly enqueueBlock: bigint | null
  readonly rest: Readonly<Record<string, unknown>>
} {
  const { caller: own, isOperator = false } = by
  if (isPlain(request)) return { caller: own, enqueueBlock: null, rest: request }
  const { schema_version: version, caller, enqueue_block: block, kind, ...rest } = request
  if (version !== undefined && version !== 0) throw invalidParams('schema_version', '0')
  const named = caller === undefined ? own : readCaller(caller)
  if (named !== own && !isOperator) {
    throw forbidden('caller', 'only an operator enqueues for another caller; leave it out')
  }
  if (block !== undefined && !isOperator) {
    throw forbidden('enqueue_block', 'only an operator says in which block a job was enqueued')
  }
  if (block !== undefined && rest['tx_hash'] === undefined) {
    throw invalidParams('tx_hash', 'the transaction that enqueue_block belongs to')
  }
  const kindName = typeof kind === 'number' ? (KIND_NUMBERS[kind] ?? kind) : kind
  return {
    caller: named,
    enqueueBlock: block === undefined ? null : readBlock(block),
    rest: { ...rest, kind: kindName },
  }
}

/** True if the request has no chain fields. Nearly all requests are plain, and a plain one is not copied. */
function isPlain(request: Readonly<Record<string, unknown>>): boolean {
  return (
    request['caller'] === undefined &&
    request['enqueue_block'] === undefined &&
    request['schema_version'] === undefined &&
    typeof request['kind'] !== 'number'
  )
}

function readCaller(written: unknown): Caller {
  if (written instanceof Uint8Array && written.length === 32) return toHex(written) as Caller
  if (typeof written === 'string' && isHex32(written) && fromHex(written) !== null) {
    return written as Caller
  }
  throw invalidParams('caller', '32 bytes as 0x and 64 lower-case hex digits')
}

function readBlock(written: unknown): bigint {
  const block = readU64(written)
  if (block !== null) return block
  throw invalidParams('enqueue_block', 'a block height from 0 to 2^64 − 1')
}

function forbidden(field: string, why: string): FairleadError {
  return new FairleadError('Forbidden', `${field}: ${why}`, { field })
}
