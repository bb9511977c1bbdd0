import type { Command } from '../command.ts'
import { attest } from './attest.ts'
import { attestRoots } from './attest-roots.ts'
import { auditExport } from './audit-export.ts'
import { auditList } from './audit-list.ts'
import { auditPrune } from './audit-prune.ts'
import { auditVerify } from './audit-verify.ts'
import { backup } from './backup.ts'
import { balance } from './balance.ts'
import { conformance } from './conformance.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { enqueue } from './enqueue.ts'
import { explain } from './explain.ts'
import { jobsCancel } from './jobs-cancel.ts'
import { jobsList } from './jobs-list.ts'
import { jobsLogs } from './jobs-logs.ts'
import { jobsRetry } from './jobs-retry.ts'
import { jobsShow } from './jobs-show.ts'
import { jobsWatch } from './jobs-watch.ts'
import { keysNew } from './keys-new.ts'
import { keysShow } from './keys-show.ts'
import { limitsDelete } from './limits-delete.ts'
import { limitsList } from './limits-list.ts'
import { limitsReset } from './limits-reset.ts'
import { limitsSet } from './limits-set.ts'
import { limitsShow } from './limits-show.ts'
import { logAcceptReplay } from './log-accept-replay.ts'
import { logVerify } from './log-verify.ts'
import { outboxRelay } from './outbox-relay.ts'
import { outboxSql } from './outbox-sql.ts'
import { payoutRecord } from './payout-record.ts'
import { policyCheck } from './policy-check.ts'
import { policySet } from './policy-set.ts'
import { policyShow } from './policy-show.ts'
import { providersList } from './providers-list.ts'
import { providersSetKey } from './providers-set-key.ts'
import { providersSetStatus } from './providers-set-status.ts'
import { providersShow } from './providers-show.ts'
import { queuesList } from './queues-list.ts'
import { queuesPause } from './queues-pause.ts'
import { queuesResume } from './queues-resume.ts'
import { registrationsCancel } from './registrations-cancel.ts'
import { registrationsList } from './registrations-list.ts'
import { registrationsSchedule } from './registrations-schedule.ts'
import { registrationsShow } from './registrations-show.ts'
import { restore } from './restore.ts'
import { schedulesDelete } from './schedules-delete.ts'
import { schedulesGet } from './schedules-get.ts'
import { schedulesList } from './schedules-list.ts'
import { schedulesNext } from './schedules-next.ts'
import { schedulesPut } from './schedules-put.ts'
import { schedulesTrigger } from './schedules-trigger.ts'
import { serve } from './serve.ts'
import { sessionsList } from './sessions-list.ts'
import { sessionsSetOpening } from './sessions-set-opening.ts'
import { sessionsShow } from './sessions-show.ts'
import { sessionsWatch } from './sessions-watch.ts'
import { settleClose } from './settle-close.ts'
import { settleExport } from './settle-export.ts'
import { settleList } from './settle-list.ts'
import { settleShow } from './settle-show.ts'
import { settleVerify } from './settle-verify.ts'
import { signup } from './signup.ts'
import { stake } from './stake.ts'
import { tokenChange } from './token-change.ts'
import { tokenCreate } from './token-create.ts'
import { tokenList } from './token-list.ts'
import { tokenRevoke } from './token-revoke.ts'
import { top } from './top.ts'
import { unstake } from './unstake.ts'
import { worker } from './worker.ts'

/** Every command, in the order in which `--help` lists them. */
export const COMMANDS: readonly Command<never>[] = [
  demo,
  enqueue,
  jobsList,
  jobsShow,
  jobsWatch,
  jobsLogs,
  jobsCancel,
  jobsRetry,
  explain,
  worker,
  providersList,
  providersShow,
  providersSetStatus,
  providersSetKey,
  keysNew,
  keysShow,
  serve,
  top,
  policyShow,
  policyCheck,
  policySet,
  tokenCreate,
  tokenList,
  tokenChange,
  tokenRevoke,
  doctor,
  backup,
  restore,
  logVerify,
  logAcceptReplay,
  queuesList,
  queuesPause,
  queuesResume,
  schedulesPut,
  schedulesGet,
  schedulesList,
  schedulesDelete,
  schedulesTrigger,
  schedulesNext,
  outboxRelay,
  outboxSql,
  limitsList,
  limitsShow,
  limitsSet,
  limitsReset,
  limitsDelete,
  signup,
  sessionsList,
  sessionsShow,
  sessionsWatch,
  sessionsSetOpening,
  registrationsSchedule,
  registrationsList,
  registrationsShow,
  registrationsCancel,
  auditList,
  auditVerify,
  auditExport,
  auditPrune,
  attest,
  attestRoots,
  stake,
  unstake,
  balance,
  payoutRecord,
  settleList,
  settleShow,
  settleExport,
  settleVerify,
  settleClose,
  conformance,
]

/** Commands that others stand under. */
export const GROUPS: Readonly<Record<string, { readonly summary: string }>> = {
  jobs: { summary: 'List, show, watch, cancel and retry jobs.' },
  queues: { summary: 'List, pause and resume queues.' },
  schedules: { summary: 'Enqueue jobs by the clock.' },
  outbox: { summary: 'Enqueue jobs from the transactions of an application.' },
  limits: { summary: 'List, show, set, reset and delete limits.' },
  policy: { summary: 'Show, check and change the policy.' },
  providers: { summary: 'List and show providers, and change their status and key.' },
  keys: { summary: 'Make and show the keys with which providers sign proofs.' },
  sessions: { summary: 'List, show and watch sessions, and say when they open.' },
  registrations: { summary: 'Schedule, list, show and cancel registrations.' },
  log: { summary: 'Verify the log of a store, and replay it after an upgrade.' },
  token: { summary: 'Create, list, change and revoke tokens.' },
  settle: { summary: 'List, show, export, verify and close settled epochs.' },
  payout: { summary: 'Record payouts of the fund.' },
  audit: { summary: 'List, verify and export the audit log.' },
}
