import { FairleadError } from '@fairlead/core'
import type { Submission } from '../commands/command.ts'

/** Answers a refused command after all, or throws a refusal of its own. */
export type Recover = (command: Submission, refusal: FairleadError) => Promise<unknown>

/** A command whose caller waits, and the answer to give once its batch is stored. */
export interface Call {
  command: Submission
  readonly resolve: (reply: unknown, index: number) => void
  readonly reject: (error: Error, index: number) => void
  /** Its index among the commands that were submitted together. */
  readonly index: number
  readonly recover: Recover | null
  /** True once the tables told if the key of this enqueue is known. */
  isLookedUp: boolean
  reply: unknown
  refusal: FairleadError | null
}

export function callOf(
  command: Submission,
  { resolve, reject, index, recover }: Pick<Call, 'resolve' | 'reject' | 'index' | 'recover'>,
): Call {
  // One literal: this runs for every command.
  return {
    command,
    resolve,
    reject,
    index,
    recover,
    isLookedUp: false,
    reply: undefined,
    refusal: null,
  }
}

/** Gives calls their commands with all facts, or the refusals of those that the tables did not tell. */
export function settle(
  calls: readonly Call[],
  told: readonly (Submission | FairleadError)[],
): void {
  for (const [i, call] of calls.entries()) {
    const command = told[i] as Submission | FairleadError
    if (command instanceof FairleadError) call.refusal = command
    else call.command = command
  }
}

/** Refuses calls that did not happen. */
export function refuse(calls: Iterable<Call>, cause: unknown): void {
  const isSaid = cause instanceof FairleadError && cause.code === 'StoreUnavailable'
  const text = `the change has not happened; try again (${messageOf(cause)})`
  const error = isSaid ? cause : new FairleadError('StoreUnavailable', text, {}, { cause })
  for (const { reject, index } of calls) reject(error, index)
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
