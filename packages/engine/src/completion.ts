import {
  invalidParams,
  type Lease,
  limitExceeded,
  type Policy,
  type ResultRow,
  sha3,
  toHex,
} from '@fairlead/core'
import type { Command } from './command.ts'

type Complete = Extract<Command, { type: 'complete' }>

/** The digest of an output, as a completion names it (ENGINE-8). */
export function outputDigest(output: Uint8Array): string {
  return toHex(sha3(output))
}

/** Refuses an output or words about it that do not fit (ENGINE-8). */
export function checkCompletion({ digest, output, meta }: Complete, policy: Policy): void {
  const { outputMaxBytes, metaMaxBytes } = policy.queue.completion
  if (output !== null && outputDigest(output) !== digest) {
    throw invalidParams('output_digest', 'the SHA3-256 of the output, or none')
  }
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
