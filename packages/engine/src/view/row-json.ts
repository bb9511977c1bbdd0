import type { JobRow } from '@fairlead/core'
import { showU64 } from '@fairlead/core/internal'

/**
 * A job that `JSON.stringify` can write. Its amounts are bigints, which JSON does not have; they are written as on
 * the wire. The hidden method leaves comparing and spreading the row unchanged.
 */
export function withJson(row: JobRow): JobRow {
  return Object.defineProperty({ ...row }, 'toJSON', { value: rowAsJson })
}

function rowAsJson(this: JobRow): Record<string, unknown> {
  const { fee, chainId, enqueueHeight, ...rest } = this
  const amounts = {
    fee: showU64(fee),
    chainId: showU64(chainId),
    enqueueHeight: showU64(enqueueHeight),
  }
  return { ...rest, ...amounts }
}
