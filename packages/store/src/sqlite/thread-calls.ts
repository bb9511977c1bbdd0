import { FairleadError } from '@fairlead/core'
import type { SqliteFile, SqliteOptions } from './sqlite-file.ts'
import type { Pace } from './table-checkpointer.ts'

/** What the two sides of a store say to each other: its user's thread and the one with the file. */

export interface ThreadData {
  readonly path: string
  readonly options: SqliteOptions
  readonly pace: Pace
  /** Of the gate that the thread passes to get at the file. */
  readonly gate: SharedArrayBuffer
  /** Of the end of the log, to which both sides write. */
  readonly logEnd: SharedArrayBuffer
}

/** The calls of an open file by their names. */
export type FileCall = Exclude<keyof SqliteFile, symbol | 'takeGiven'>

export interface Call {
  readonly id: number
  readonly name: FileCall
  readonly args: readonly unknown[]
}

/** In place of a call: a batch lies at the end of the log. It has no answer; who needs one asks for the judgement. */
export const GIVEN_BATCH = 0
export type GivenBatch = typeof GIVEN_BATCH

export interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly refusal?: Refusal
}

/** An error that is sent as such would lose its class and its fields on the way. */
export interface Refusal {
  readonly code: FairleadError['code']
  readonly message: string
  readonly details: FairleadError['details']
  readonly cause: unknown
}

/** The first answer, to no call, says whether the file is open. */
export const OPENED = 0

export function refusalOf({ code, message, details, cause }: FairleadError): Refusal {
  return { code, message, details, cause }
}

export function errorOf({ code, message, details, cause }: Refusal): FairleadError {
  return new FairleadError(code, message, details, { cause })
}
