-- The first schema. What it is laid out for: a commit of thousands of rows that touches few pages.
--
-- Ids of 32 bytes are as good as random, so an index on one takes a page of its own for nearly every
-- row of a commit. There are three such indexes and no more: ids, jobs (caller, tx_hash), leases (id).
-- All other tables name a job or caller by its number in ids; numbers ascend, so what is new lies
-- together. Numbers are the file's own business: nothing outside ever sees one.
--
-- u64 values are decimal text, because SQLite's integers end at 2^63. Columns of type ANY hold text
-- that people chose; where it contains U+0000 it is stored as bytes, because a driver may cut text there.

-- Kept when a job is deleted: the journal and the results go on naming it.
CREATE TABLE ids (
  no INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 32)
) STRICT;

CREATE TABLE jobs (
  no                  INTEGER PRIMARY KEY,
  seq                 INTEGER NOT NULL UNIQUE,
  status              TEXT NOT NULL CHECK (status IN
    ('QUEUED', 'ASSIGNED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED')),
  ended_at            INTEGER,
  caller              INTEGER NOT NULL,
  tx_hash             BLOB NOT NULL CHECK (length(tx_hash) = 32),
  kind                TEXT NOT NULL,
  provider_id         TEXT,
  enqueue_height      TEXT NOT NULL,
  tier                ANY NOT NULL,
  fee                 TEXT NOT NULL,
  size_bytes          INTEGER NOT NULL,
  model               ANY,
  shots               INTEGER NOT NULL,
  depth_hint          INTEGER NOT NULL,
  units               INTEGER NOT NULL,
  regions             TEXT,
  ttl_abs_secs        INTEGER,
  enqueue_ts          INTEGER NOT NULL,
  chain_id            TEXT NOT NULL,
  attempt             INTEGER,
  retries             INTEGER NOT NULL,
  declines            INTEGER NOT NULL,
  not_before          INTEGER,
  first_assigned_at   INTEGER,
  reason              TEXT,
  proof_awaited_since INTEGER,
  denials             TEXT,
  UNIQUE (caller, tx_hash),
  -- A job that is alive has no end, one that has ended has one (TTL-3).
  CHECK ((status IN ('QUEUED', 'ASSIGNED', 'RUNNING')) = (ended_at IS NULL))
) STRICT;

-- The live ones, which have no end, come first and in order; behind them, the first to be deleted.
CREATE INDEX jobs_by_end ON jobs (ended_at, seq);
CREATE INDEX jobs_by_caller ON jobs (caller, seq);

-- Apart from the job, which is rewritten at every change of its status.
CREATE TABLE payloads (
  job     INTEGER PRIMARY KEY,
  payload BLOB NOT NULL
) STRICT;

CREATE TABLE leases (
  job            INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  id             BLOB NOT NULL UNIQUE CHECK (length(id) = 32),
  status         TEXT NOT NULL CHECK (status IN
    ('ACTIVE', 'RENEWED', 'COMPLETED', 'CANCELLED', 'EXPIRED')),
  provider_id    TEXT NOT NULL,
  t_start        INTEGER NOT NULL,
  t_deadline     INTEGER NOT NULL,
  renewals       INTEGER NOT NULL,
  is_acked       INTEGER NOT NULL CHECK (is_acked IN (0, 1)),
  epoch          INTEGER NOT NULL,
  round          INTEGER NOT NULL,
  digest         BLOB CHECK (length(digest) = 32),
  length_ms      INTEGER NOT NULL,
  ack_timeout_ms INTEGER NOT NULL,
  renew_alpha    INTEGER NOT NULL,
  renew_beta     INTEGER NOT NULL,
  renewals_max   INTEGER NOT NULL,
  worker_id      ANY,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- No job has two live leases (STATE-4).
CREATE UNIQUE INDEX live_leases ON leases (job) WHERE status IN ('ACTIVE', 'RENEWED');
CREATE INDEX leases_by_start ON leases (t_start);

CREATE TABLE providers (
  id              TEXT PRIMARY KEY,
  status          TEXT NOT NULL CHECK (status IN
    ('REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED')),
  capabilities    TEXT NOT NULL,
  models          TEXT NOT NULL,
  max_depth       INTEGER,
  max_shots       INTEGER,
  region          ANY,
  allow           TEXT,
  deny            TEXT NOT NULL,
  leases_max      INTEGER,
  stake           TEXT NOT NULL,
  attestation     TEXT,
  last_heartbeat  INTEGER NOT NULL,
  credited_at     INTEGER,
  silent_steps    INTEGER NOT NULL,
  health          INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  cooldown_until  INTEGER,
  class_cooldowns TEXT NOT NULL,
  units           TEXT NOT NULL,
  workers         TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
  job         INTEGER PRIMARY KEY,
  lease_id    BLOB NOT NULL CHECK (length(lease_id) = 32),
  provider_id TEXT NOT NULL,
  digest      BLOB NOT NULL CHECK (length(digest) = 32),
  units       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  output      BLOB,
  meta        BLOB
) STRICT;

CREATE TABLE shares (
  kind   TEXT NOT NULL,
  caller INTEGER NOT NULL,
  finish TEXT NOT NULL,
  PRIMARY KEY (kind, caller)
) STRICT, WITHOUT ROWID;

-- Rows are large and the index is small: the newest are found without reading them.
CREATE TABLE rounds (
  height       INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  seed         BLOB NOT NULL CHECK (length(seed) = 32),
  batch_digest BLOB NOT NULL CHECK (length(batch_digest) = 32),
  batch_size   INTEGER NOT NULL,
  providers    TEXT NOT NULL,
  assignments  TEXT NOT NULL,
  PRIMARY KEY (height, kind)
) STRICT;

-- What most rows have in common is left out: a subject that is null is the job, a prev_hash that is
-- null is the hash of the entry before. details is JSON, or canonical CBOR where JSON would lose a value.
CREATE TABLE journal (
  seq       INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  actor     ANY NOT NULL,
  action    ANY NOT NULL,
  subject   ANY,
  details   ANY NOT NULL,
  hash      BLOB NOT NULL CHECK (length(hash) = 32),
  prev_hash BLOB CHECK (length(prev_hash) = 32),
  job       INTEGER
) STRICT;

CREATE INDEX journal_by_job ON journal (job) WHERE job IS NOT NULL;

CREATE TABLE meta (
  name  ANY PRIMARY KEY NOT NULL,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Rows as the queries read them: with ids in place of their numbers, and ids and hashes as the text
-- that they are outside. Made here, that costs half of what it does behind the driver.

CREATE VIEW job_rows AS
SELECT
  jobs.no, jobs.seq, jobs.status, jobs.ended_at, jobs.caller, jobs.kind, jobs.provider_id,
  jobs.enqueue_height, jobs.tier, jobs.fee, jobs.size_bytes, jobs.model, jobs.shots, jobs.depth_hint,
  jobs.units, jobs.regions, jobs.ttl_abs_secs, jobs.enqueue_ts, jobs.chain_id, jobs.attempt,
  jobs.retries, jobs.declines, jobs.not_before, jobs.first_assigned_at, jobs.reason,
  jobs.proof_awaited_since, jobs.denials,
  '0x' || lower(hex(jobs.tx_hash)) AS tx_hash,
  '0x' || lower(hex(job_ids.id)) AS id,
  '0x' || lower(hex(caller_ids.id)) AS caller_id
FROM jobs
JOIN ids AS job_ids ON job_ids.no = jobs.no
JOIN ids AS caller_ids ON caller_ids.no = jobs.caller;

CREATE VIEW lease_rows AS
SELECT
  leases.job, leases.attempt, leases.status, leases.provider_id, leases.t_start, leases.t_deadline,
  leases.renewals, leases.is_acked, leases.epoch, leases.round, leases.length_ms,
  leases.ack_timeout_ms, leases.renew_alpha, leases.renew_beta, leases.renewals_max,
  leases.worker_id,
  '0x' || lower(hex(leases.id)) AS id,
  CASE WHEN leases.digest IS NOT NULL THEN '0x' || lower(hex(leases.digest)) END AS digest,
  '0x' || lower(hex(ids.id)) AS job_id
FROM leases
JOIN ids ON ids.no = leases.job;

CREATE VIEW result_rows AS
SELECT
  results.job, results.provider_id, results.units, results.at, results.output, results.meta,
  '0x' || lower(hex(results.lease_id)) AS lease_id,
  '0x' || lower(hex(results.digest)) AS digest,
  '0x' || lower(hex(ids.id)) AS job_id
FROM results
JOIN ids ON ids.no = results.job;

CREATE VIEW share_rows AS
SELECT shares.kind, shares.caller, shares.finish, '0x' || lower(hex(ids.id)) AS caller_id
FROM shares
JOIN ids ON ids.no = shares.caller;

CREATE VIEW round_rows AS
SELECT
  height, kind, at, batch_size, providers, assignments,
  '0x' || lower(hex(seed)) AS seed,
  '0x' || lower(hex(batch_digest)) AS batch_digest
FROM rounds;

CREATE VIEW journal_rows AS
SELECT
  journal.seq, journal.at, journal.actor, journal.action, journal.subject, journal.details, journal.job,
  '0x' || lower(hex(journal.hash)) AS hash,
  '0x' || lower(hex(coalesce(journal.prev_hash, before.hash, zeroblob(32)))) AS prev_hash,
  CASE WHEN journal.job IS NOT NULL THEN '0x' || lower(hex(ids.id)) END AS job_id
FROM journal
LEFT JOIN ids ON ids.no = journal.job
LEFT JOIN journal AS before ON before.seq = journal.seq - 1;
