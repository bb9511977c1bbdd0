/** What must hold after every step, with the rules that say so. A broken one is named by its key. */
export const INVARIANTS = {
  'job-lost': 'no accepted job is lost: it is there until its horizon is over (ENGINE-2, TTL-3)',
  'one-live-lease': 'a job has at most one live lease (STATE-4)',
  'final-state': 'a finished job or lease never changes (STATE-2, STATE-3)',
  'completed-once': 'COMPLETED exactly once, and only by the lease that held the job (COMPLETE-4)',
  retries: 'each charge counts once, and retries stay below attempt_max (RETRY-2, RETRY-6)',
  backoff:
    'a job that failed is ready again after its backoff and what its failure asked for, any other at once (RETRY-1, FAIL-4)',
  'worker-loss':
    'a lost worker charges nothing, and so many in a row end the job that they had (WORKER-16)',
  'fails-alone':
    'a job that fails, fails alone: with health off no failure keeps another job from running (HEALTH-7)',
  'failure-kept':
    'why an attempt failed is kept as it was said, for the newest attempts of a job (FAIL-1 to FAIL-5)',
  'result-kept': 'a result is there as long as its job, and for its retention (STORE-10)',
  deadline:
    'what falls due happens at its own time, and a later call is refused (STATE-6, LEASE-6)',
  transition: 'jobs and leases move by their tables, told in order (STATE-1, STATE-3, EVENT-1)',
  'lease-cap':
    'no provider holds more live leases than its cap, none unless ACTIVE (QUOTA-1, LEASE-7)',
  'unit-quota': 'no assignment takes a provider over its units of the epoch (QUOTA-5)',
  'requester-window': 'no span of a window holds more assignments than it allows (QUOTA-4)',
  'limit-span': 'no span of a limit holds more than its capacity (ADMIT-3, LIMIT-4, LIMIT-6)',
  scheduled: 'no job is assigned before its time (OPTIONS-2)',
  dependencies:
    'no job runs before its dependencies have ended, or after one that failed it (OPTIONS-8)',
  dedupe: 'while a live job has a dedupe key, no other of its caller and name gets it (OPTIONS-7)',
  progress: 'what a worker said last of a live job is stored, with its attempt (PROGRESS-1)',
  'queue-depth': 'no job is accepted over max_depth or max_per_caller (ENQUEUE-7)',
  eligibility: 'a job goes to a provider that fits it only (MATCH-3)',
  order: 'of ready jobs of one class the first in order is taken first (ORDER-3, ORDER-5)',
  schedule:
    'a schedule fires once for each of its times, by its catch-up through downtime (SCHEDULE-4, SCHEDULE-5)',
  bulk: 'a bulk run touches only what it may, each job once, and ends (BULK-1 to BULK-4)',
  paused: 'no job is assigned while it is paused, through any restart (PAUSE-1, PAUSE-3)',
  'fair-shares': 'virtual and finish times are those that FAIR-2 and FAIR-3 give',
  'fair-bound': 'tenants with work waiting differ by their largest job each at most (FAIR-7)',
  journal: 'the audit chain has no gap and no wrong link (AUDIT-1, ENGINE-3)',
  offers:
    'a lease is offered to its own worker, and known to it while that is connected (WORKER-2)',
  'event-stream': 'a subscriber hears every event once, in order, as it is stored (EVENT-1)',
  rows: 'what is stored is what the journal says has happened (ENGINE-3)',
  durable: 'nobody is told of anything before it is durable (ENGINE-2)',
  answer: 'an answer agrees with what is stored (STATE-8, LEASE-8, COMPLETE-1)',
  idempotency: 'one caller and key is one job (ENQUEUE-6)',
  log: 'the log has every batch once, in order, and no fewer than the tables may lose (ENGINE-2)',
  downtime:
    'the time that an engine is away, and no other, is charged to nobody (ENGINE-4, ENGINE-6)',
  projection:
    'the tables of the leader have what happened, and nothing that may not have happened (PROJECT-1)',
  recovery: 'what a killed process leaves leads to all that happened (RECOVER-1)',
  'back-pressure': 'tables that take nothing delay reads and enqueues, nothing else (PROJECT-3)',
  replay:
    'a replica comes to the same digests and rows, with restarts or without (ENGINE-1, ENGINE-4, COMMAND-4)',
  digest: 'the digest of a batch tells of every decision (COMMAND-5)',
  'no-op': 'a command that changes nothing is not recorded (COMMAND-3)',
  'session-place':
    'a session opens at one time, and nobody has two places in it (SESSION-9, SESSION-10)',
  'session-order':
    'in a session the first in order is sent first, with its own rank, not before its time (SESSION-2, SESSION-4, DISPATCH-2)',
  'session-turns':
    'the sessions of a dispatch key take turns; none is starved (DISPATCH-3, DISPATCH-4)',
  'session-budget':
    'no dispatch key sends more than its tokens, its concurrency, its pauses and its spacing allow (BUDGET-2 to BUDGET-7)',
  attempt: 'each attempt of a registration means what ATTEMPT-1 to ATTEMPT-9 say',
  'booked-once':
    'nothing is booked twice for one job, and nobody is told otherwise than it is (ATTEMPT-5)',
  settlements:
    'epochs are settled once each, in order, and a batch is what its claims are worth (SETTLE-1 to SETTLE-14)',
  books:
    'all balances add up to 0, and money moves for a reason and once (LEDGER-1 to LEDGER-3, STAKE-2)',
  proof:
    'a claim is of a completed lease that awaited it, one a job; nobody is charged for what others send (PROOF-5, CLAIM-1, CLAIM-6)',
  'claim-final':
    'a job is COMPLETED when its claim is FINAL, and its result is there from then on (CLAIM-5, COMPLETE-2)',
  chain: 'blocks are taken in their place, and what is final stays (CLAIM-3, CLAIM-5)',
  service:
    'each outcome counts once and is judged once; penalties are those of the rules (SLA-1 to SLA-9)',
  personal:
    'what a registration says of people is kept for its time, and erased after it (AUDIT-10)',
  stranded: 'a ready job does not wait beside a provider that fits it (MATCH-2)',
  store: 'the store in memory keeps and deletes what the simulated disk does (STORE-5 to STORE-10)',
  memory: 'the engine counts what the store holds (ENGINE-4)',
  unexplained: 'no call fails without a fault of the store, and none with Internal (ENGINE-5)',
  rest: 'the engine comes to rest when nothing is left to do',
  unfinished: 'once all goes well, every accepted job comes to its end',
} as const

export type InvariantName = keyof typeof INVARIANTS

/** An invariant that did not hold: the end of a simulation. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly invariant: InvariantName

  constructor(invariant: InvariantName, message: string) {
    super(message)
    this.invariant = invariant
  }
}

/** Ends the simulation: the invariant does not hold, because of what the message says. */
export function broken(invariant: InvariantName, message: string): never {
  throw new Violation(invariant, message)
}
