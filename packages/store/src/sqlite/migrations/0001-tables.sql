-- The first schema. What it is laid out for: a commit of thousands of rows that touches few pages.
--
-- Ids of 32 bytes are as good as random, so an index on one takes a page of its own for nearly every
-- row of a commit. There is none: what a job or lease is called outside leads to its number by way of
-- the table names, which is small and is written in its own order, once for thousands of jobs. All other
-- tables name a job by its number of acceptance; numbers ascend, so what is new lies together. That no
-- two jobs have one id is checked before anything is logged. A caller has a number that is the file's own
-- business: nothing outside ever sees it.
--
-- u64 values are decimal text, because SQLite's integers end at 2^63. Columns of type ANY hold text
-- that people chose; where it contains U+0000 it is stored as bytes, because a driver may cut text there.

CREATE TABLE callers (
  no INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 32)
) STRICT;

CREATE TABLE jobs (
  seq                 INTEGER PRIMARY KEY,
  id                  BLOB NOT NULL CHECK (length(id) = 32),
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
  tokens              INTEGER NOT NULL,
  regions             TEXT,
  ttl_abs_secs        INTEGER,
  enqueue_ts          INTEGER NOT NULL,
  chain_id            TEXT NOT NULL,
  origin              TEXT,
  attempt             INTEGER,
  retries             INTEGER NOT NULL,
  declines            INTEGER NOT NULL,
  not_before          INTEGER,
  first_assigned_at   INTEGER,
  reason              TEXT,
  proof_awaited_since INTEGER,
  denials             TEXT,
  -- The numbers of the entries about it, each behind a blank: its timeline without an index.
  entries             TEXT NOT NULL,
  -- A job that is alive has no end, one that has ended has one (TTL-3).
  CHECK ((status IN ('QUEUED', 'ASSIGNED', 'RUNNING')) = (ended_at IS NULL))
) STRICT;

-- The live ones, which have no end, come first and in order; behind them, the first to be deleted.
CREATE INDEX jobs_by_end ON jobs (ended_at, seq);
CREATE INDEX jobs_by_caller ON jobs (caller, seq);

-- Of a job's id, of its caller's id with its tx_hash, and of the ids of its leases; see names.ts.
CREATE TABLE names (
  name INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  PRIMARY KEY (name, job)
) STRICT, WITHOUT ROWID;

-- Apart from the job, which is rewritten at every change of its status.
CREATE TABLE payloads (
  job     INTEGER PRIMARY KEY,
  payload BLOB NOT NULL
) STRICT;

CREATE TABLE leases (
  job            INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  id             BLOB NOT NULL CHECK (length(id) = 32),
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
  platforms       TEXT NOT NULL,
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
  job_id      BLOB NOT NULL CHECK (length(job_id) = 32),
  lease_id    BLOB NOT NULL CHECK (length(lease_id) = 32),
  provider_id TEXT NOT NULL,
  digest      BLOB NOT NULL CHECK (length(digest) = 32),
  units       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  output      BLOB,
  meta        BLOB
) STRICT;

-- Written when a job is deleted and its result stays: until then the job leads to it.
CREATE TABLE kept_results (
  job_id BLOB NOT NULL,
  job    INTEGER NOT NULL,
  PRIMARY KEY (job_id, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE shares (
  kind   TEXT NOT NULL,
  caller INTEGER NOT NULL,
  finish TEXT NOT NULL,
  PRIMARY KEY (kind, caller)
) STRICT, WITHOUT ROWID;

-- The state of the step that admits jobs, piece by piece; the engine knows what a value means.
CREATE TABLE lanes (
  lane  TEXT NOT NULL,
  key   BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (lane, key)
) STRICT, WITHOUT ROWID;

-- Rows are large and the index is small: the newest are found without reading them.
CREATE TABLE rounds (
  height       INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  seed         BLOB NOT NULL CHECK (length(seed) = 32),
  batch_digest BLOB NOT NULL CHECK (length(batch_digest) = 32),
  batch_size   INTEGER NOT NULL,
  match_order  TEXT NOT NULL CHECK (match_order IN ('first-fit', 'rotate', 'score')),
  providers    TEXT NOT NULL,
  ranks        TEXT,
  assignments  TEXT NOT NULL,
  refusals     TEXT NOT NULL,
  PRIMARY KEY (height, kind)
) STRICT;

-- Blocks of entries that were written together; see journal-blocks.ts. A row for each entry would be
-- most of what a commit writes, and nobody looks for one but by its number.
CREATE TABLE journal (
  first   INTEGER PRIMARY KEY,
  last    INTEGER NOT NULL,
  entries BLOB NOT NULL
) STRICT;

-- The store itself: an id that its log is known by, and the number of the last batch of the log whose
-- rows are all in their tables; see log-file.ts.
CREATE TABLE store (
  id      BLOB NOT NULL CHECK (length(id) = 16),
  carried INTEGER NOT NULL
) STRICT;

INSERT INTO store (id, carried) VALUES (randomblob(16), 0);

CREATE TABLE meta (
  name  ANY PRIMARY KEY NOT NULL,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Rows as the queries read them: with ids in place of their numbers, and ids and hashes as the text
-- that they are outside. Made here, that costs half of what it does behind the driver.

CREATE VIEW job_rows AS
SELECT
  jobs.seq, jobs.status, jobs.ended_at, jobs.caller, jobs.kind, jobs.provider_id,
  jobs.enqueue_height, jobs.tier, jobs.fee, jobs.size_bytes, jobs.model, jobs.shots, jobs.depth_hint,
  jobs.units, jobs.tokens, jobs.regions, jobs.ttl_abs_secs, jobs.enqueue_ts, jobs.chain_id, jobs.origin,
  jobs.attempt,
  jobs.retries, jobs.declines, jobs.not_before, jobs.first_assigned_at, jobs.reason,
  jobs.proof_awaited_since, jobs.denials,
  '0x' || lower(hex(jobs.tx_hash)) AS tx_hash,
  '0x' || lower(hex(jobs.id)) AS id,
  '0x' || lower(hex(callers.id)) AS caller_id
FROM jobs
JOIN callers ON callers.no = jobs.caller;

CREATE VIEW lease_rows AS
SELECT
  leases.job, leases.attempt, leases.status, leases.provider_id, leases.t_start, leases.t_deadline,
  leases.renewals, leases.is_acked, leases.epoch, leases.round, leases.length_ms,
  leases.ack_timeout_ms, leases.renew_alpha, leases.renew_beta, leases.renewals_max,
  leases.worker_id,
  '0x' || lower(hex(leases.id)) AS id,
  CASE WHEN leases.digest IS NOT NULL THEN '0x' || lower(hex(leases.digest)) END AS digest,
  '0x' || lower(hex(jobs.id)) AS job_id
FROM leases
JOIN jobs ON jobs.seq = leases.job;

CREATE VIEW result_rows AS
SELECT
  job, provider_id, units, at, output, meta,
  '0x' || lower(hex(lease_id)) AS lease_id,
  '0x' || lower(hex(digest)) AS digest,
  '0x' || lower(hex(job_id)) AS job_id
FROM results;

CREATE VIEW share_rows AS
SELECT shares.kind, shares.caller, shares.finish, '0x' || lower(hex(callers.id)) AS caller_id
FROM shares
JOIN callers ON callers.no = shares.caller;

CREATE VIEW round_rows AS
SELECT
  height, kind, at, batch_size, match_order, providers, ranks, assignments, refusals,
  '0x' || lower(hex(seed)) AS seed,
  '0x' || lower(hex(batch_digest)) AS batch_digest
FROM rounds;
