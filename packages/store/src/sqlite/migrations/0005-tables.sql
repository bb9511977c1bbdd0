-- Version 5. Versions up to 4 had other tables; migrations/from-4 copies them into these.
--
-- Ids and hashes are their 32 bytes. Columns that end in 48 hold the first 6 bytes of an id as an integer: an index on
-- them is small, and queries compare the whole id afterwards. u64 values are decimal text, because the integers of SQLite
-- end at 2^63. Columns of type ANY hold text that people chose; text that contains U+0000 is stored as bytes, because
-- a driver may cut it there. Every table names a job by its number of acceptance. Numbers ascend, so new rows lie together.
--
-- RAISE(ROLLBACK) ends the whole transaction, for which SQLite needs no copies of pages. The writer then applies again
-- what it had applied before.

CREATE TABLE jobs (
  seq                 INTEGER PRIMARY KEY,
  id                  BLOB NOT NULL CHECK (length(id) = 32),
  caller              BLOB NOT NULL CHECK (length(caller) = 32),
  tx_hash             BLOB NOT NULL CHECK (length(tx_hash) = 32),
  kind                TEXT NOT NULL,
  tier                ANY NOT NULL,
  fee                 TEXT NOT NULL,
  size_bytes          INTEGER NOT NULL,
  model               ANY,
  shots               INTEGER NOT NULL,
  depth_hint          INTEGER NOT NULL,
  units               INTEGER NOT NULL,
  tokens              INTEGER NOT NULL,
  regions             TEXT,
  needs               TEXT,
  ttl_abs_secs        INTEGER,
  enqueue_ts          INTEGER NOT NULL,
  chain_id            TEXT NOT NULL,
  enqueue_height      TEXT NOT NULL,
  origin              TEXT,
  status              TEXT NOT NULL CHECK (status IN
    ('QUEUED', 'ASSIGNED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED')),
  provider_id         TEXT,
  attempt             INTEGER,
  retries             INTEGER NOT NULL,
  declines            INTEGER NOT NULL,
  worker_losses       INTEGER NOT NULL,
  not_before          INTEGER,
  first_assigned_at   INTEGER,
  ended_at            INTEGER,
  reason              TEXT,
  proof_awaited_since INTEGER,
  -- NULL: none.
  denials             TEXT,
  id48                INTEGER NOT NULL,
  caller48            INTEGER NOT NULL,
  -- A hash of caller and tx_hash (key-hash.ts); NULL if no caller can know the tx_hash.
  key_hash            INTEGER,
  -- A live job has no end, an ended job has one (TTL-3).
  CHECK ((status IN ('QUEUED', 'ASSIGNED', 'RUNNING')) = (ended_at IS NULL))
) STRICT;

CREATE INDEX jobs_by_id ON jobs (id48);
CREATE INDEX jobs_by_key ON jobs (key_hash) WHERE key_hash IS NOT NULL;
-- The live ones, which have no end, come first and in order; behind them, the first to be deleted.
CREATE INDEX jobs_by_end ON jobs (ended_at);
CREATE INDEX jobs_by_caller ON jobs (caller48);

-- STORE-5.
CREATE TRIGGER unique_jobs BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM jobs WHERE id48 = NEW.id48 AND id = NEW.id)
  OR EXISTS (SELECT 1 FROM jobs WHERE key_hash = NEW.key_hash AND tx_hash = NEW.tx_hash AND caller = NEW.caller)
BEGIN
  SELECT RAISE(ROLLBACK, 'there is a job with this id or key');
END;

-- Apart from the job, which is rewritten at every change of its status.
CREATE TABLE payloads (
  job     INTEGER PRIMARY KEY,
  payload BLOB NOT NULL,
  -- CRC-32 of the payload. SQLite does not notice a damaged page of a large value.
  crc     INTEGER NOT NULL
) STRICT;

CREATE TABLE leases (
  job            INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  id             BLOB NOT NULL CHECK (length(id) = 32),
  job_id         BLOB NOT NULL CHECK (length(job_id) = 32),
  provider_id    TEXT NOT NULL,
  t_start        INTEGER NOT NULL,
  epoch          INTEGER NOT NULL,
  round          INTEGER NOT NULL,
  length_ms      INTEGER NOT NULL,
  renew_alpha    INTEGER NOT NULL,
  renew_beta     INTEGER NOT NULL,
  -- NULL: it may be renewed without end.
  renewals_max   INTEGER,
  status         TEXT NOT NULL CHECK (status IN
    ('ACTIVE', 'RENEWED', 'COMPLETED', 'CANCELLED', 'EXPIRED')),
  t_deadline     INTEGER NOT NULL,
  renewals       INTEGER NOT NULL,
  is_acked       INTEGER NOT NULL CHECK (is_acked IN (0, 1)),
  digest         BLOB CHECK (length(digest) = 32),
  ack_timeout_ms INTEGER NOT NULL,
  worker_id      ANY,
  id48           INTEGER NOT NULL,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX leases_by_id ON leases (id48);
CREATE INDEX leases_by_start ON leases (t_start);
-- No job has two live leases (STATE-4).
CREATE UNIQUE INDEX live_leases ON leases (job) WHERE status IN ('ACTIVE', 'RENEWED');

-- STORE-5, STORE-6.
CREATE TRIGGER unique_leases BEFORE INSERT ON leases
WHEN EXISTS (SELECT 1 FROM leases WHERE id48 = NEW.id48 AND id = NEW.id)
  OR NOT EXISTS (SELECT 1 FROM jobs WHERE seq = NEW.job AND id = NEW.job_id)
BEGIN
  SELECT RAISE(ROLLBACK, 'there is a lease with this id, or no such job');
END;

CREATE TABLE results (
  job          INTEGER PRIMARY KEY,
  job_id       BLOB NOT NULL CHECK (length(job_id) = 32),
  -- NULL where an older version wrote the row.
  caller       BLOB CHECK (length(caller) = 32),
  lease_id     BLOB NOT NULL CHECK (length(lease_id) = 32),
  provider_id  TEXT NOT NULL,
  digest       BLOB NOT NULL CHECK (length(digest) = 32),
  units        INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  output       BLOB,
  content_type ANY,
  meta         BLOB,
  -- CRC-32 of output and meta.
  crc          INTEGER NOT NULL
) STRICT;

-- STORE-6.
CREATE TRIGGER results_of_jobs BEFORE INSERT ON results
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE seq = NEW.job AND id = NEW.job_id)
BEGIN
  SELECT RAISE(ROLLBACK, 'there is no such job');
END;

-- Results whose jobs were deleted. Until then the job leads to its result.
CREATE TABLE kept_results (
  id48 INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  at   INTEGER NOT NULL,
  PRIMARY KEY (id48, job)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_results_by_at ON kept_results (at);

CREATE TABLE failures (
  job     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  job_id  BLOB NOT NULL CHECK (length(job_id) = 32),
  at      INTEGER NOT NULL,
  code    ANY NOT NULL,
  message ANY,
  details BLOB,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- STORE-6.
CREATE TRIGGER failures_of_jobs BEFORE INSERT ON failures
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE seq = NEW.job AND id = NEW.job_id)
BEGIN
  SELECT RAISE(ROLLBACK, 'there is no such job');
END;

-- One row for each entry: audit log, events and timelines.
CREATE TABLE journal (
  seq     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  actor   ANY NOT NULL,
  action  ANY NOT NULL,
  subject ANY NOT NULL,
  job     INTEGER,
  -- JSON; CBOR if they contain bytes, or integers that JSON does not keep.
  details ANY NOT NULL,
  hash    BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX journal_by_job ON journal (job) WHERE job IS NOT NULL;

CREATE TABLE providers (
  id              TEXT PRIMARY KEY,
  status          TEXT NOT NULL CHECK (status IN
    ('REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED')),
  capabilities    TEXT NOT NULL,
  models          TEXT NOT NULL,
  platforms       TEXT NOT NULL,
  max_depth       INTEGER,
  max_shots       INTEGER,
  max_width       INTEGER,
  gates           TEXT,
  precision       TEXT,
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

CREATE TABLE shares (
  kind   TEXT NOT NULL,
  caller BLOB NOT NULL CHECK (length(caller) = 32),
  finish TEXT NOT NULL,
  PRIMARY KEY (kind, caller)
) STRICT, WITHOUT ROWID;

-- Limits, sessions, budgets and tokens, piece by piece; the engine knows what a value means.
CREATE TABLE lanes (
  lane  TEXT NOT NULL,
  key   ANY NOT NULL,
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

CREATE TABLE meta (
  name  ANY PRIMARY KEY NOT NULL,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- The store itself: one row, which every commit updates.
CREATE TABLE store (
  -- The log has the same id.
  id             BLOB NOT NULL CHECK (length(id) = 16),
  -- All tables are as after this batch of the log.
  batch          INTEGER NOT NULL,
  -- 1: the store was closed, and nothing is missing without a log.
  is_clean       INTEGER NOT NULL CHECK (is_clean IN (0, 1)),
  -- Numbers of rows, which a damaged file may contradict.
  jobs           INTEGER NOT NULL,
  leases         INTEGER NOT NULL,
  results        INTEGER NOT NULL,
  -- The ends of the journal, and the hash before its first entry.
  journal_first  INTEGER NOT NULL,
  journal_last   INTEGER NOT NULL,
  journal_before BLOB NOT NULL CHECK (length(journal_before) = 32),
  journal_hash   BLOB NOT NULL CHECK (length(journal_hash) = 32),
  -- Jobs that ended before the first time, and results of deleted jobs before the second, are still to be deleted.
  prune_ended    INTEGER,
  prune_results  INTEGER,
  -- The number of this commit, and the one that the file had at least when its write-ahead log began; see marks.ts.
  marks          BLOB NOT NULL CHECK (length(marks) = 24)
) STRICT;

INSERT INTO store VALUES (
  randomblob(16), 0, 1, 0, 0, 0, 1, 0, zeroblob(32), zeroblob(32), NULL, NULL, zeroblob(24)
);

-- For people: ids as text, times as dates.

CREATE VIEW job_list AS
SELECT
  jobs.seq, '0x' || lower(hex(jobs.id)) AS id, status, kind, model, provider_id, attempt, retries, reason,
  strftime('%Y-%m-%d %H:%M:%f', enqueue_ts / 1000.0, 'unixepoch') AS enqueued,
  strftime('%Y-%m-%d %H:%M:%f', first_assigned_at / 1000.0, 'unixepoch') AS first_assigned,
  strftime('%Y-%m-%d %H:%M:%f', ended_at / 1000.0, 'unixepoch') AS ended,
  '0x' || lower(hex(caller)) AS caller, '0x' || lower(hex(tx_hash)) AS tx_hash
FROM jobs;

CREATE VIEW lease_list AS
SELECT
  job, attempt, '0x' || lower(hex(id)) AS id, status, provider_id, worker_id, renewals, is_acked,
  strftime('%Y-%m-%d %H:%M:%f', t_start / 1000.0, 'unixepoch') AS start,
  strftime('%Y-%m-%d %H:%M:%f', t_deadline / 1000.0, 'unixepoch') AS deadline
FROM leases;

CREATE VIEW result_list AS
SELECT
  job, '0x' || lower(hex(job_id)) AS job_id, provider_id, units, content_type, length(output) AS output_bytes,
  strftime('%Y-%m-%d %H:%M:%f', at / 1000.0, 'unixepoch') AS at
FROM results;

CREATE VIEW failure_list AS
SELECT
  job, attempt, code, message, strftime('%Y-%m-%d %H:%M:%f', at / 1000.0, 'unixepoch') AS at
FROM failures;

CREATE VIEW journal_list AS
SELECT
  seq, strftime('%Y-%m-%d %H:%M:%f', at / 1000.0, 'unixepoch') AS at, actor, action, subject, job,
  iif(typeof(details) = 'text', details, 'cbor ' || hex(details)) AS details
FROM journal;

CREATE VIEW store_info AS
SELECT lower(hex(id)) AS id, batch, is_clean, jobs, leases, results, journal_first, journal_last FROM store;
