/** Values that the examples of methods and events share, so that they tell one story. */

export const TASK_ID = '0x2f1d0c5ab7e94d3386f2a1b0c9d8e7f60123456789abcdef0123456789ab9c41'
export const LEASE_ID = '0x5fe2c1d0b3a49586778695a4b3c2d1e0f1e2d3c4b5a697887796a5b4c3d277aa'
export const CALLER = '0x7ab3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7ff9c0'
export const DIGEST = '0xd4b1a2938475665748392a1b0c9d8e7f60514233241506f7e8d9cabbac9d00a7'
export const TX_HASH = '0x6a5e4d3c2b1a09f8e7d6c5b4a3928170605f4e3d2c1b0a9f8e7d6c5b4a3919bf'
export const SEED = '0x19ff00cc11ee22dd33cc44bb55aa66998877665544332211000f1e2d3c4b5a69'
export const ENVELOPE_HASH = '0x8a9c7b6a594837261504f3e2d1c0bfae9d8c7b6a594837261504f3e2d1c0ee12'
export const NULLIFIER = '0x19ff2e3d4c5b6a798897a6b5c4d3e2f1001f2e3d4c5b6a798897a6b5c4d300cc'
export const ATLAS = 'provider:atlas'
export const AT = 1_713_200_123_000

export const AI_PAYLOAD = {
  model: 'llama3-8b',
  prompt: '0x48656c6c6f',
  max_tokens: 256,
  temperature: 0.5,
  qos_hint_ms: 500,
}

const LEASE_FIELDS = {
  lease_id: LEASE_ID,
  task_id: TASK_ID,
  provider_id: ATLAS,
  attempt: 0,
  status: 'ACTIVE' as const,
  issued_at: AT / 1_000,
  ttl_seconds: 600,
  renewals: 0,
  max_renewals: 4,
  t_start: AT,
  t_deadline: AT + 600_000,
  renew_by: AT + 360_000,
}

export const LEASE = { ...LEASE_FIELDS, worker_id: 'w-1', is_acked: true, timeout_at: null }

export const ASSIGNMENT = {
  ...LEASE_FIELDS,
  at: AT + 2,
  ack_by: AT + 5_000,
  kind: 'ai' as const,
  model: 'llama3-8b',
  payload: AI_PAYLOAD,
  traceparent: null,
}

const REQUEST = {
  caller: CALLER,
  max_fee_u64: 2_500_000,
  tier: 'FREE',
  regions: null,
  precision: null,
  width_hint: 0,
  gates: null,
  ttl_abs_secs: null,
  tx_hash: TX_HASH,
  chain_id: 1,
  enqueue_block: 1_713_200_000,
  retry_of: null,
  traceparent: null,
  options: null,
  schedule: null,
  scheduled_at: null,
}

const STATE = {
  schema_version: 0 as const,
  task_id: TASK_ID,
  kind: 'ai' as const,
  name: 'llama3-8b',
  status: 'COMPLETED' as const,
  reason: null,
  provider_id: ATLAS,
  attempt: 0,
  retries: 0,
  declines: 0,
  units: 3,
  not_before: null,
}

const ENDS = { completed: 1_713_200_125.25, failed: null, expired: null, canceled: null }

export const JOB_SUMMARY = {
  ...STATE,
  request: REQUEST,
  timestamps: { enqueued: 1_713_200_000, assigned: AT / 1_000, ...ENDS },
}

export const JOB_RECORD = {
  ...STATE,
  wait_reason: null,
  progress: null,
  request: { ...REQUEST, payload: AI_PAYLOAD },
  timestamps: {
    enqueued: 1_713_200_000,
    assigned: AT / 1_000,
    started: (AT + 5) / 1_000,
    ...ENDS,
  },
  lease: { ...LEASE, status: 'COMPLETED' as const },
  last_error: null,
  errors: [],
}

export const RESULT_RECORD = {
  schema_version: 0 as const,
  task_id: TASK_ID,
  kind: 'ai' as const,
  provider_id: ATLAS,
  lease_id: LEASE_ID,
  output_digest: DIGEST,
  output: '0x48656c6c6f20796f75',
  content_type: 'text/plain',
  meta: null,
  units: 3.25,
  qos: { p95_latency_ms: 420, availability: 0.9993 },
  proof_refs: [
    {
      proof_type: 'AI_V1' as const,
      proof_hash: ENVELOPE_HASH,
      nullifier: NULLIFIER,
      block_height: 1_713_200_125,
      tx_hash: ENVELOPE_HASH,
    },
  ],
  finalized_height: 1_713_200_125,
  completed_at: 1_713_200_125.25,
}

export const CLAIM = {
  schema_version: 0 as const,
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  provider_id: ATLAS,
  proof_type: 'AI_V1' as const,
  envelope_hash: ENVELOPE_HASH,
  nullifier: NULLIFIER,
  metrics: { ai_units: 3.25, qos: { p95_latency_ms: 420, availability: 0.9993 } },
  block_height: 1_713_200_125,
  tx_hash: ENVELOPE_HASH,
  status: 'FINAL' as const,
  finalized_height: 1_713_200_125,
}

export const EPOCH_ID = 475_888

export const BATCH = {
  epoch_id: EPOCH_ID,
  prev_batch_id: `0x${'00'.repeat(32)}`,
  claims_root: TX_HASH,
  payouts_root: SEED,
  totals: {
    claims: 1,
    payouts: 1,
    gross: 3_575,
    budget: null,
    paid: 3_575,
    provider: 2_860,
    miner: 536,
    fund: 179,
    slashed: 0,
    debits: {},
    unstaked: { 'provider:borea': 5_000 },
    deferred: 0,
    carry: 0,
  },
  policy_hash: DIGEST,
  audit_seq: 16,
  audit_head: SEED,
}

export const LISTED_BATCH = { batch_id: DIGEST, batch: BATCH }

export const CLAIM_LINE = {
  claim_key: SEED,
  task_id: TASK_ID,
  kind: 'ai' as const,
  provider_id: ATLAS,
  miner_id: 'operator',
  envelope_hash: ENVELOPE_HASH,
  nullifier: NULLIFIER,
  block_height: 1_713_200_125,
  epoch_id: EPOCH_ID,
  units_ppm: 3_250_000,
  rate: 1_000,
  q_ppm: 1_100_000,
  d_ppm: 1_000_000,
  gross: 3_575,
  split: { provider: 8_000, miner: 1_500, fund: 500 },
}

export const PAYOUT_LINE = {
  ...CLAIM_LINE,
  paid_before: 0,
  amount: 3_575,
  provider: 2_860,
  miner: 536,
  fund: 179,
  slashed: 0,
}

export const ATTESTATION = {
  class: 'enclave',
  attestation_hash: TX_HASH,
  not_before: AT - 86_400_000,
  not_after: AT + 86_400_000,
}

export const PROVIDER = {
  schema_version: 0 as const,
  provider_id: ATLAS,
  status: 'ACTIVE' as const,
  kinds: ['ai' as const],
  models: ['llama3-8b'],
  platforms: [],
  max_depth: null,
  max_shots: null,
  max_width: null,
  gates: null,
  precision: null,
  region: 'eu-west',
  allow: null,
  deny: [],
  leases_max: 8,
  stake_u64: 15_000,
  unstaking: [{ amount_u64: 5_000, matures_at: AT + 86_400_000 }],
  public_key: SEED,
  attestation: ATTESTATION,
  service: [
    {
      kind: 'ai' as const,
      band: 'gold' as const,
      samples: 120,
      p95_ms: 420,
      fail_ppm: 8_334,
      availability_ppm: 1_000_000,
    },
  ],
  offence_epochs: [],
  jailed_until: null,
  health: 1_000,
  failures: 0,
  cooldown_until: null,
  last_heartbeat: AT,
  leases: 1,
  lease_cap: 4,
  workers: [{ worker_id: 'w-1', slots: 4, leases: 1, gone_since: null }],
}

export const AUDIT_ENTRY = {
  seq: 17,
  at: AT,
  actor: 'engine',
  action: 'jobAssigned',
  subject: TASK_ID,
  details: { providerId: ATLAS, leaseId: LEASE_ID, deadline: AT + 600_000 },
  prev_hash: SEED,
  hash: DIGEST,
}

export const LIMIT = {
  key: 'global:llm:openai:gpt-5.2:tpm',
  kind: 'rolling' as const,
  capacity: 200_000,
  window_seconds: 60,
  overage: 'debt' as const,
  unit: 'tokens',
}

export const LIMIT_RECORD = {
  definition: LIMIT,
  state: 'active' as const,
  pending_decrease_to: null,
  held: 1_800,
  level_micro: null,
}

export const RESERVE = {
  lease_id: '01JC8Q5G6V5Q0T1YH2M9X4D7KB',
  requirements: [{ key: LIMIT.key, amount: 1_800 }],
}

export const RESERVED = {
  allowed: true,
  retry_after_ms: 0,
  reserved_at_unix_ms: AT,
  error: null,
  denied_key: null,
  detail: null,
}

export const COMPLETE = {
  lease_id: RESERVE.lease_id,
  actuals: [{ key: LIMIT.key, actual_amount: 740 }],
}

export const COMPLETED = { ok: true, error: null, detail: null }

export const SESSION_KEY = { provider: 'bookeo', org_ref: 'org-1', event_id: 'swim-tue-9' }
export const REFERENCE = 'SCH-7F3K2Q'

export const REGISTRATION = {
  reference: REFERENCE,
  task_id: TASK_ID,
  status: 'COMPLETED' as const,
  ...SESSION_KEY,
  user_id: 'user-17',
  result: 'booked' as const,
  reason: null,
  is_readable: true,
  booking_number: 'B-1007',
  fee_status: 'none' as const,
  rank: 2,
  opens_at: AT,
  queued_at: AT - 60_000,
  first_attempt_at: AT + 80,
  first_attempt_delay_ms: 80,
  ended_at: AT + 240,
  attempts: 1,
  message: {
    name: 'success' as const,
    text: "Registration succeeded: you're in. Your number at bookeo is B-1007.",
  },
}

export const SESSION = {
  ...SESSION_KEY,
  opens_at: AT,
  is_open: true,
  waiting: 2,
  in_flight: 1,
  completed: 1,
  failed: 0,
  canceled: 0,
}

export const SESSION_ENTRY = {
  reference: REFERENCE,
  task_id: TASK_ID,
  place: 3,
  rank: 2,
  send_at: AT + 80,
  queued_at: AT - 60_000,
  attempts: 0,
  state: 'waiting' as const,
  retry_at: null,
}

export const SCHEDULE = {
  id: 'nightly',
  caller: CALLER,
  cron: '0 2 * * MON-FRI',
  timezone: 'Europe/Berlin',
  overlap: 'skip' as const,
  catch_up: 'last' as const,
  paused: false,
  request: { kind: 'task' as const, payload: { name: 'report', args: { kind: 'sales' } } },
  next_at: AT + 3_600_000,
  last_at: null,
  last_task_id: null,
}

export const PAUSE_RECORD = {
  kind: 'task' as const,
  name: 'resize',
  caller: null,
  paused_at: AT,
}

export const DISPATCH_KEY = {
  provider: 'bookeo',
  org_ref: 'org-1',
  in_flight: 1,
  in_flight_max: 3,
  rate_per_second: 1.5,
  rate_configured: 3,
  burst: 6,
  tokens: 3,
  burst_used: 0.5,
  spacing_ms: 80,
  paused_until: null,
  answers: 4,
  rate_429: 0.25,
  rate_5xx: 0,
  clock_offset_ms: -120,
}

export const BLOCKER = {
  id: 'ai|no_provider|lease_cap_reached|',
  kind: 'ai' as const,
  reason: 'no_provider' as const,
  check: 'lease_cap_reached' as const,
  slots: 4,
  limit: null,
  jobs: 12,
  callers: 2,
  names: [{ name: 'llama3-8b', jobs: 12 }],
  oldest_wait_ms: 1_250,
  earliest_at: null,
  earliest_in_ms: null,
  example: TASK_ID,
  text: '12 jobs of kind ai wait for a slot: all 4 slots of the providers that take them are busy.',
  change: {
    text: 'Connect another worker, or give one more slots.',
    jobs: 12,
    method: null,
    params: null,
  },
}

export const VERDICT = {
  status: 'held' as const,
  text: '12 jobs wait. Most of them, 12 of kind ai, wait for a slot: all 4 slots are busy.',
  at: AT,
  age_ms: 3,
  valid_ms: 10_000,
  waiting: 12,
  running: 4,
  cause: BLOCKER,
  ruled_out: [{ check: 'store', text: 'The log takes appends.' }],
  problems: [],
}

export const BUDGET = {
  key: LIMIT.key,
  kind: LIMIT.kind,
  unit: LIMIT.unit,
  description: null,
  capacity: LIMIT.capacity,
  window_ms: 60_000,
  rate_per_second: null,
  used: 740,
  reserved: 1_060,
  free: 198_200,
  debt: 0,
  pending_decrease_to: null,
  resets_at: AT + 12_000,
  resets_in_ms: 12_000,
  whole_at: AT + 60_000,
  waiting: 0,
  holders: [
    {
      lease_id: LEASE_ID,
      task_id: TASK_ID,
      caller: CALLER,
      name: 'anna',
      amount: 1_060,
      reserved_at: AT - 1_000,
      ends_at: AT + 60_000,
    },
  ],
  holders_total: 1,
  reported: null,
}
