import type { FairleadError } from '@fairlead/core'

/** The messages between a `ThreadHost` and `serveCalls` on its thread. */

export interface ThreadData {
  /** The argument of the function that opens the object. */
  readonly data: unknown
  /** The file that errors name. */
  readonly path: string
  /** The memory of the `ThreadGate` that the thread passes for each call. */
  readonly gate: SharedArrayBuffer
}

export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

export interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly refusal?: Refusal
}

/** The fields of an error. Structured cloning would drop its class and its details. */
export type Refusal = Pick<FairleadError, 'code' | 'message' | 'details' | 'cause'>

/** The id of the first answer, which says if the object is open. */
export const OPENED = 0

/** A result whose buffers are transferred to the caller's thread, not copied. The caller gets `value`. */
export class Moved<Value> {
  readonly value: Value
  readonly buffers: readonly ArrayBuffer[]

  constructor(value: Value, buffers: readonly ArrayBuffer[]) {
    this.value = value
    this.buffers = buffers
  }
}
