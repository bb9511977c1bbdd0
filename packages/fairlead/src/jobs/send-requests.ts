import type { JobReceipt, NodeClient } from '@fairlead/client'
import { FairleadError } from '@fairlead/core'
import { EXIT, exitOf } from '../exit-codes.ts'
import type { Wanted } from './enqueue-requests.ts'

/** Requests that wait for their answers at once. */
const AT_ONCE = 200
/** Refused lines that a report lists. */
const LISTED_MAX = 20

export interface Sent {
  readonly receipts: readonly JobReceipt[]
  /** Null if every request was enqueued. */
  readonly refusals: Refusals | null
}

/** Requests that were not enqueued, and the reasons. */
export interface Refusals {
  readonly lines: readonly string[]
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: object
    readonly retryable: boolean
  }
  readonly exitCode: number
}

interface Refused {
  readonly at: number
  readonly error: FairleadError
}

/**
 * Sends all requests. One that is refused holds up no other, except where the server is overloaded or
 * gone: then the rest is not sent, since it would be refused as well.
 */
export async function sendRequests(
  client: NodeClient,
  wanted: readonly Wanted[],
  onProgress: (done: number) => void,
): Promise<Sent> {
  const receipts: JobReceipt[] = []
  const refused: Refused[] = []
  let at = 0
  while (at < wanted.length && !refused.some(({ error }) => error.retryable)) {
    const some = wanted.slice(at, at + AT_ONCE)
    const answers = await Promise.allSettled(some.map(({ request }) => client.enqueue(request)))
    answers.forEach((answer, i) => {
      if (answer.status === 'fulfilled') receipts.push(answer.value)
      else if (answer.reason instanceof FairleadError) {
        refused.push({ at: at + i, error: answer.reason })
      } else throw answer.reason
    })
    at += some.length
    onProgress(receipts.length)
  }
  const [first] = refused
  if (first === undefined) return { receipts, refusals: null }
  const isUnreached = ({ error }: Refused): boolean => error.details['reason'] === 'unreachable'
  const isOne = wanted.length === 1 && wanted[0]?.line === null
  // Without a server there is nothing to say of single lines.
  if (isOne || (receipts.length === 0 && refused.every(isUnreached))) throw first.error
  return { receipts, refusals: refusalsOf(wanted, receipts.length, refused, at) }
}

function refusalsOf(
  wanted: readonly Wanted[],
  enqueued: number,
  refused: readonly Refused[],
  sent: number,
): Refusals {
  const locationOf = (at: number): string => {
    const line = wanted[at]?.line ?? null
    return line === null ? `request ${at + 1}` : `line ${line}`
  }
  const lines = refused.slice(0, LISTED_MAX).map(({ at, error }) => {
    // The answer may have been lost after the job was written.
    const isUnknown = error.code === 'StoreUnavailable' && error.details['reason'] !== 'unreachable'
    return `${locationOf(at)}: ${isUnknown ? 'perhaps enqueued: ' : ''}${error.message}`
  })
  if (refused.length > lines.length) lines.push(`… and ${refused.length - lines.length} more`)
  if (sent < wanted.length) lines.push(`not sent: ${locationOf(sent)} and all after it`)
  const { code, retryable } = (refused[0] as Refused).error
  const message = `${enqueued} of ${wanted.length} jobs were enqueued, ${refused.length} refused`
  return {
    lines,
    error: {
      code,
      message,
      details: {
        enqueued,
        refused: refused.slice(0, LISTED_MAX).map(({ at, error }) => ({
          line: wanted[at]?.line ?? null,
          code: error.code,
          message: error.message,
        })),
        not_sent: wanted.length - sent,
      },
      retryable,
    },
    exitCode: enqueued === 0 ? exitOf({ code, retryable }) : EXIT.failed,
  }
}
