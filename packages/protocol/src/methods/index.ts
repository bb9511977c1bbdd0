import { ackLease } from './ack-lease.ts'
import { attest } from './attest.ts'
import { auditList } from './audit-list.ts'
import { auditPrune } from './audit-prune.ts'
import { auditVerify } from './audit-verify.ts'
import { authWhoami } from './auth-whoami.ts'
import { cancelJob } from './cancel-job.ts'
import { cancelJobs } from './cancel-jobs.ts'
import { chainBlock } from './chain-block.ts'
import { claimPayout } from './claim-payout.ts'
import { closeEpoch } from './close-epoch.ts'
import { completeLease } from './complete-lease.ts'
import { declineLease } from './decline-lease.ts'
import { discover } from './discover.ts'
import { enqueue } from './enqueue.ts'
import { eventsSubscribe } from './events-subscribe.ts'
import { eventsUnsubscribe } from './events-unsubscribe.ts'
import { explainJob } from './explain-job.ts'
import { failLease } from './fail-lease.ts'
import { getBalance } from './get-balance.ts'
import { getChallenge } from './get-challenge.ts'
import { getJob } from './get-job.ts'
import { getLogs } from './get-logs.ts'
import { getProvider } from './get-provider.ts'
import { getResult } from './get-result.ts'
import { getSettlement } from './get-settlement.ts'
import { getTimeline } from './get-timeline.ts'
import { heartbeat } from './heartbeat.ts'
import { limitsComplete } from './limits-complete.ts'
import { limitsCompleteMany } from './limits-complete-many.ts'
import { limitsDefine } from './limits-define.ts'
import { limitsDelete } from './limits-delete.ts'
import { limitsGet } from './limits-get.ts'
import { limitsList } from './limits-list.ts'
import { limitsReserve } from './limits-reserve.ts'
import { limitsReserveMany } from './limits-reserve-many.ts'
import { limitsReset } from './limits-reset.ts'
import { listJobs } from './list-jobs.ts'
import { listProviders } from './list-providers.ts'
import { listSettlements } from './list-settlements.ts'
import { policyDescribe } from './policy-describe.ts'
import { policyGet } from './policy-get.ts'
import { policySet } from './policy-set.ts'
import { pollLeases } from './poll-leases.ts'
import { queuesList } from './queues-list.ts'
import { queuesPause } from './queues-pause.ts'
import { queuesResume } from './queues-resume.ts'
import { recordPayout } from './record-payout.ts'
import { registerProvider } from './register-provider.ts'
import { releaseLease } from './release-lease.ts'
import { renewLease } from './renew-lease.ts'
import { reportProgress } from './report-progress.ts'
import { retryJobs } from './retry-jobs.ts'
import { schedulesDelete } from './schedules-delete.ts'
import { schedulesGet } from './schedules-get.ts'
import { schedulesList } from './schedules-list.ts'
import { schedulesPut } from './schedules-put.ts'
import { schedulesTrigger } from './schedules-trigger.ts'
import { setProviderStatus } from './set-provider-status.ts'
import { signupAudit } from './signup-audit.ts'
import { signupCancel } from './signup-cancel.ts'
import { signupGetSession } from './signup-get-session.ts'
import { signupList } from './signup-list.ts'
import { signupListSessions } from './signup-list-sessions.ts'
import { signupSchedule } from './signup-schedule.ts'
import { signupSetOpening } from './signup-set-opening.ts'
import { stake } from './stake.ts'
import { statsBudgets } from './stats-budgets.ts'
import { statsFairness } from './stats-fairness.ts'
import { statsGet } from './stats-get.ts'
import { statsHistory } from './stats-history.ts'
import { statsProviders } from './stats-providers.ts'
import { statsStorage } from './stats-storage.ts'
import { statsVerdict } from './stats-verdict.ts'
import { statsWaiting } from './stats-waiting.ts'
import { storageBackup } from './storage-backup.ts'
import { submitProof } from './submit-proof.ts'
import { unstake } from './unstake.ts'
import { updateProvider } from './update-provider.ts'

/** Every method, by its name on the wire. */
export const METHODS = {
  'aicf.enqueue': enqueue,
  'aicf.getJob': getJob,
  'aicf.listJobs': listJobs,
  'aicf.getResult': getResult,
  'aicf.cancelJob': cancelJob,
  'aicf.cancelJobs': cancelJobs,
  'aicf.retryJobs': retryJobs,
  'aicf.explainJob': explainJob,
  'aicf.getLogs': getLogs,
  'aicf.getTimeline': getTimeline,
  'aicf.pollLeases': pollLeases,
  'aicf.ackLease': ackLease,
  'aicf.renewLease': renewLease,
  'aicf.declineLease': declineLease,
  'aicf.completeLease': completeLease,
  'aicf.failLease': failLease,
  'aicf.reportProgress': reportProgress,
  'aicf.releaseLease': releaseLease,
  'aicf.registerProvider': registerProvider,
  'aicf.updateProvider': updateProvider,
  'aicf.heartbeat': heartbeat,
  'aicf.listProviders': listProviders,
  'aicf.getProvider': getProvider,
  'aicf.setProviderStatus': setProviderStatus,
  'aicf.stake': stake,
  'aicf.unstake': unstake,
  'aicf.getChallenge': getChallenge,
  'aicf.attest': attest,
  'aicf.submitProof': submitProof,
  'aicf.getBalance': getBalance,
  'aicf.listSettlements': listSettlements,
  'aicf.getSettlement': getSettlement,
  'aicf.claimPayout': claimPayout,
  'aicf.closeEpoch': closeEpoch,
  'aicf.recordPayout': recordPayout,
  'chain.block': chainBlock,
  'queues.pause': queuesPause,
  'queues.resume': queuesResume,
  'queues.list': queuesList,
  'schedules.put': schedulesPut,
  'schedules.get': schedulesGet,
  'schedules.list': schedulesList,
  'schedules.delete': schedulesDelete,
  'schedules.trigger': schedulesTrigger,
  'signup.schedule': signupSchedule,
  'signup.cancel': signupCancel,
  'signup.list': signupList,
  'signup.listSessions': signupListSessions,
  'signup.getSession': signupGetSession,
  'signup.setOpening': signupSetOpening,
  'signup.audit': signupAudit,
  'limits.define': limitsDefine,
  'limits.reset': limitsReset,
  'limits.delete': limitsDelete,
  'limits.list': limitsList,
  'limits.get': limitsGet,
  'limits.reserve': limitsReserve,
  'limits.reserveMany': limitsReserveMany,
  'limits.complete': limitsComplete,
  'limits.completeMany': limitsCompleteMany,
  'events.subscribe': eventsSubscribe,
  'events.unsubscribe': eventsUnsubscribe,
  'auth.whoami': authWhoami,
  'policy.get': policyGet,
  'policy.describe': policyDescribe,
  'policy.set': policySet,
  'audit.list': auditList,
  'audit.prune': auditPrune,
  'audit.verify': auditVerify,
  'stats.get': statsGet,
  'stats.verdict': statsVerdict,
  'stats.waiting': statsWaiting,
  'stats.budgets': statsBudgets,
  'stats.fairness': statsFairness,
  'stats.providers': statsProviders,
  'stats.history': statsHistory,
  'stats.storage': statsStorage,
  'storage.backup': storageBackup,
  'rpc.discover': discover,
} as const
export type MethodName = keyof typeof METHODS
/** Those that change something (SCOPE-4). */
export type WritingMethod = {
  [Name in MethodName]: (typeof METHODS)[Name]['access'] extends 'write' ? Name : never
}[MethodName]
