import { randomUUID } from 'node:crypto'
import { type Caller, parsePolicy } from '@fairlead/core'
import { acceptRequest } from '@fairlead/core/internal'
import { type AddOptions, wireOptions } from '../queue/add-options.ts'
import { ownWords } from '../queue/own-words.ts'
import { checkData } from '../queue/plain-data.ts'

/** How the job of a row is to run: as for `queue.add`. A delay counts from the time of writing. */
export interface OutboxOptions extends AddOptions {
  /** The server's `caps.task.args`, if that was changed: the longest data, in bytes of canonical CBOR. */
  readonly argsMaxBytes?: number
}

/** One row of the outbox. */
export interface WrittenRow {
  readonly key: string
  /** The params of `aicf.enqueue` without the key, as JSON. */
  readonly request: string
}

const POLICY = parsePolicy({})

/** In the place of what only the server knows. */
const CONTEXT = { caller: `0x${'00'.repeat(32)}` as Caller, chainId: 1n, enqueueHeight: 0n }

/** A job as a row, checked as a server checks it. */
export function rowOf(
  name: string,
  data: unknown,
  { argsMaxBytes = POLICY.caps.task.args, key = randomUUID(), ...options }: OutboxOptions,
  nowMs: number,
): WrittenRow {
  checkData(data)
  const { delay_ms: delayMs, ...rest } = wireOptions(options)
  const asked = { kind: 'task', payload: { name, args: data }, ...rest }
  const { caps } = POLICY
  const policy = { ...POLICY, caps: { ...caps, task: { ...caps.task, args: argsMaxBytes } } }
  const delay = delayMs == null ? {} : { delay_ms: delayMs }
  try {
    acceptRequest({ ...asked, ...delay, idempotency_key: key }, policy, { ...CONTEXT, nowMs })
  } catch (error) {
    throw ownWords(error)
  }
  // A row may wait for its relay; that is not part of the delay.
  const request = delayMs == null ? asked : { ...asked, run_at: nowMs + delayMs }
  return { key, request: JSON.stringify(request) }
}
