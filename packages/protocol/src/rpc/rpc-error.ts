import { ERRORS, type ErrorCode, type ErrorDetails, FairleadError } from '@fairlead/core/errors'
import { ERROR_NUMBERS } from './error-numbers.ts'
import type { RpcErrorObject } from './message.ts'

/** What goes with the number of an error: the code that programs branch on. */
export interface RpcErrorData {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  readonly retryable: boolean
}

/** An error as it goes over the wire. */
export function rpcErrorOf(error: FairleadError): RpcErrorObject & { readonly data: RpcErrorData } {
  const { code, message, details, retryable } = error
  return { code: ERROR_NUMBERS[code], message, data: { code, details, retryable } }
}

/** The error that came over the wire; one that is no code of ours is `Internal`, or wrong use. */
export function errorOfRpc({ code, message, data }: RpcErrorObject): FairleadError {
  const given = (data as Partial<RpcErrorData> | null | undefined) ?? {}
  if (typeof given.code === 'string' && Object.hasOwn(ERRORS, given.code)) {
    return new FairleadError(given.code, message, given.details ?? {})
  }
  const isWrongUse = code <= -32600 && code >= -32602
  return new FairleadError(isWrongUse ? 'InvalidParams' : 'Internal', message, { number: code })
}
