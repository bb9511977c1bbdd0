import { FairleadError } from '@fairlead/core'
import type { Snapshot } from '@fairlead/core/internal'
import { META } from '../state/meta.ts'
import { VERSION } from '../version.ts'
import { UnreadableBatch } from './batch.ts'
import { ReplicaDiverged } from './replica.ts'

/** The refusal of a start whose replay failed, with the ways out (REPLAY-1). Any other error stays as it is. */
export function replayRefusal(error: unknown, { meta }: Pick<Snapshot, 'meta'>): unknown {
  const isDiverged = error instanceof ReplicaDiverged
  if (!isDiverged && !(error instanceof UnreadableBatch)) return error
  const writtenBy = meta[META.version] ?? null
  const { batch, message } = error
  const reason = isDiverged ? 'replay_differs' : 'unreadable_batch'
  const wayOut = isDiverged
    ? '; or stop it, keep a copy of all its files, and take the new decisions with fairlead log accept-replay'
    : ''
  const text = `the log cannot be replayed: ${message}; ${stopWith(writtenBy)}${wayOut}`
  const details = { reason, batch, writtenBy, version: VERSION }
  return new FairleadError('StoreUnavailable', text, details, { cause: error })
}

function stopWith(writtenBy: string | null): string {
  if (writtenBy === VERSION) {
    return `version ${VERSION} wrote it itself, so this is a defect or damage: please report it`
  }
  const version = writtenBy === null ? 'the version that wrote it' : `version ${writtenBy}`
  return `start ${version} once and stop it cleanly, then start version ${VERSION} again`
}
