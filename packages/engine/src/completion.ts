import {
  invalidParams,
  type Lease,
  limitExceeded,
  type Policy,
  type ResultRow,
  sha3Hex,
} from '@fairlead/core'
import type { Command } from './command.ts'

type Complete = Extract<Command, { type: 'complete' }>

interface Said {
  readonly digest?: string | undefined
  readonly output?: Uint8Array | undefined
}

/** Many a job has no output to speak of. */
const EMPTY_DIGEST = sha3Hex(new Uint8Array())

/** The digest of an output; one that is given with it has to be the same (ENGINE-8). */
export function completionDigest({ digest, output }: Said): string {
  if (output === undefined) return digest ?? ''
  if (!(output instanceof Uint8Array)) throw invalidParams('output', 'bytes, or to be left out')
  const own = output.length === 0 ? EMPTY_DIGEST : sha3Hex(output)
  if (digest === undefined || digest === own) return own
  throw invalidParams('output_digest', 'the SHA3-256 of the output, or none')
}

/** Refuses an output or words about it that are too long (ENGINE-8). */
export function checkCompletion({ output, meta }: Complete, policy: Policy): void {
  const { outputMaxBytes, metaMaxBytes } = policy.queue.completion
  if (output !== null && output.length > outputMaxBytes) {
    throw limitExceeded('output', outputMaxBytes, output.length)
  }
  if (meta !== null && meta.length > metaMaxBytes) {
    throw limitExceeded('meta', metaMaxBytes, meta.length)
  }
}

export function resultRow(
  lease: Lease,
  command: Pick<Complete, 'digest' | 'output' | 'meta' | 'actualUnits'>,
  at: number,
): ResultRow {
  const { digest, output, meta, actualUnits } = command
  return {
    jobId: lease.job.id,
    jobSeq: lease.job.enqueueSeq,
    leaseId: lease.id,
    providerId: lease.provider.id,
    digest,
    units: actualUnits ?? lease.job.units,
    at,
    output,
    meta,
  }
}
