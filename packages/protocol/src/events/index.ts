import { z } from 'zod'
import { accessRefused } from './access-refused.ts'
import { auditPruned } from './audit-pruned.ts'
import { backupMade } from './backup-made.ts'
import { bulkEnded } from './bulk-ended.ts'
import { bulkProgress } from './bulk-progress.ts'
import { bulkStarted } from './bulk-started.ts'
import { clockFixed } from './clock-fixed.ts'
import { dataRead } from './data-read.ts'
import { epochSettled } from './epoch-settled.ts'
import { feeFailed } from './fee-failed.ts'
import { jobAssigned } from './job-assigned.ts'
import { jobCancelNoted } from './job-cancel-noted.ts'
import { jobCanceled } from './job-canceled.ts'
import { jobCompleted } from './job-completed.ts'
import { jobEnqueued } from './job-enqueued.ts'
import { jobExpired } from './job-expired.ts'
import { jobFailed } from './job-failed.ts'
import { jobRequeued } from './job-requeued.ts'
import { jobRescheduled } from './job-rescheduled.ts'
import { jobStarted } from './job-started.ts'
import { keyChanged } from './key-changed.ts'
import { leaseCancelled } from './lease-cancelled.ts'
import { leaseMoved } from './lease-moved.ts'
import { leaseRenewed } from './lease-renewed.ts'
import { limitDefined } from './limit-defined.ts'
import { limitDeleted } from './limit-deleted.ts'
import { limitExcess } from './limit-excess.ts'
import { limitReset } from './limit-reset.ts'
import { openingSet } from './opening-set.ts'
import { payoutRecorded } from './payout-recorded.ts'
import { placeReleased } from './place-released.ts'
import { policyChanged } from './policy-changed.ts'
import { proofAccepted } from './proof-accepted.ts'
import { proofDropped } from './proof-dropped.ts'
import { providerAttested } from './provider-attested.ts'
import { providerRegistered } from './provider-registered.ts'
import { providerSlashed } from './provider-slashed.ts'
import { providerStaked } from './provider-staked.ts'
import { providerStatus } from './provider-status.ts'
import { providerUnstaked } from './provider-unstaked.ts'
import { providerUpdated } from './provider-updated.ts'
import { queuePaused } from './queue-paused.ts'
import { queueResumed } from './queue-resumed.ts'
import { replayAccepted } from './replay-accepted.ts'
import { scheduleDeleted } from './schedule-deleted.ts'
import { schedulePut } from './schedule-put.ts'
import { scheduleSkipped } from './schedule-skipped.ts'
import { slashWarning } from './slash-warning.ts'
import { storeRestored } from './store-restored.ts'
import { tokenChanged } from './token-changed.ts'
import type { Topic } from './topics.ts'
import { workerConnected } from './worker-connected.ts'
import { workerLeft } from './worker-left.ts'

/** Every event, by its name. */
export const EVENTS = {
  jobEnqueued,
  jobAssigned,
  jobStarted,
  jobCompleted,
  jobFailed,
  jobExpired,
  jobCanceled,
  jobCancelNoted,
  jobRescheduled,
  jobRequeued,
  proofAccepted,
  proofDropped,
  leaseRenewed,
  leaseCancelled,
  leaseMoved,
  providerRegistered,
  providerUpdated,
  providerStaked,
  providerUnstaked,
  providerAttested,
  keyChanged,
  providerStatus,
  providerSlashed,
  slashWarning,
  workerConnected,
  workerLeft,
  accessRefused,
  dataRead,
  clockFixed,
  backupMade,
  storeRestored,
  replayAccepted,
  openingSet,
  placeReleased,
  feeFailed,
  epochSettled,
  payoutRecorded,
  policyChanged,
  limitDefined,
  tokenChanged,
  limitReset,
  limitDeleted,
  limitExcess,
  queuePaused,
  queueResumed,
  schedulePut,
  scheduleDeleted,
  scheduleSkipped,
  bulkStarted,
  bulkProgress,
  bulkEnded,
  auditPruned,
} as const satisfies { readonly [Name in Topic]: { readonly name: Name } }

/** Any of them. */
export const event = z
  .discriminatedUnion('type', [
    jobEnqueued.schema,
    jobAssigned.schema,
    jobStarted.schema,
    jobCompleted.schema,
    jobFailed.schema,
    jobExpired.schema,
    jobCanceled.schema,
    jobCancelNoted.schema,
    jobRescheduled.schema,
    jobRequeued.schema,
    proofAccepted.schema,
    proofDropped.schema,
    leaseRenewed.schema,
    leaseCancelled.schema,
    leaseMoved.schema,
    providerRegistered.schema,
    providerUpdated.schema,
    providerStaked.schema,
    providerUnstaked.schema,
    providerAttested.schema,
    keyChanged.schema,
    providerStatus.schema,
    providerSlashed.schema,
    slashWarning.schema,
    workerConnected.schema,
    workerLeft.schema,
    accessRefused.schema,
    dataRead.schema,
    clockFixed.schema,
    backupMade.schema,
    storeRestored.schema,
    replayAccepted.schema,
    openingSet.schema,
    placeReleased.schema,
    feeFailed.schema,
    epochSettled.schema,
    payoutRecorded.schema,
    policyChanged.schema,
    limitDefined.schema,
    tokenChanged.schema,
    limitReset.schema,
    limitDeleted.schema,
    limitExcess.schema,
    queuePaused.schema,
    queueResumed.schema,
    schedulePut.schema,
    scheduleDeleted.schema,
    scheduleSkipped.schema,
    bulkStarted.schema,
    bulkProgress.schema,
    bulkEnded.schema,
    auditPruned.schema,
  ])
  .meta({ id: 'Event' })

export type WireEvent = z.output<typeof event>
