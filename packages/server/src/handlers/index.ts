import type { Handlers } from '../rpc/call.ts'
import { subscribe, unsubscribe } from './events.ts'
import { cancelJob, enqueue, explainJob, getJob, getResult, getTimeline, listJobs } from './jobs.ts'
import {
  ackLease,
  completeLease,
  declineLease,
  failLease,
  pollLeases,
  releaseLease,
  renewLease,
} from './leases.ts'
import {
  limitsComplete,
  limitsCompleteMany,
  limitsDefine,
  limitsGet,
  limitsList,
  limitsReserve,
  limitsReserveMany,
} from './limits.ts'
import { auditList, auditVerify, discover, policyGet, policySet, statsGet } from './operations.ts'
import {
  getProvider,
  heartbeat,
  listProviders,
  registerProvider,
  setProviderStatus,
  stake,
  updateProvider,
} from './providers.ts'

/** Who carries out which method. */
export const HANDLERS: Handlers = {
  'aicf.enqueue': enqueue,
  'aicf.getJob': getJob,
  'aicf.listJobs': listJobs,
  'aicf.getResult': getResult,
  'aicf.cancelJob': cancelJob,
  'aicf.explainJob': explainJob,
  'aicf.getTimeline': getTimeline,
  'aicf.pollLeases': pollLeases,
  'aicf.ackLease': ackLease,
  'aicf.renewLease': renewLease,
  'aicf.declineLease': declineLease,
  'aicf.completeLease': completeLease,
  'aicf.failLease': failLease,
  'aicf.releaseLease': releaseLease,
  'aicf.registerProvider': registerProvider,
  'aicf.updateProvider': updateProvider,
  'aicf.heartbeat': heartbeat,
  'aicf.listProviders': listProviders,
  'aicf.getProvider': getProvider,
  'aicf.setProviderStatus': setProviderStatus,
  'aicf.stake': stake,
  'limits.define': limitsDefine,
  'limits.list': limitsList,
  'limits.get': limitsGet,
  'limits.reserve': limitsReserve,
  'limits.reserveMany': limitsReserveMany,
  'limits.complete': limitsComplete,
  'limits.completeMany': limitsCompleteMany,
  'events.subscribe': subscribe,
  'events.unsubscribe': unsubscribe,
  'policy.get': policyGet,
  'policy.set': policySet,
  'audit.list': auditList,
  'audit.verify': auditVerify,
  'stats.get': statsGet,
  'rpc.discover': discover,
}
