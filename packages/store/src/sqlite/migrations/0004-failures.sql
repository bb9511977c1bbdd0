-- Failures of attempts, needs of jobs, limits of providers, leases without a cap on renewals, and results that can go.

DROP VIEW job_rows;
DROP VIEW lease_rows;
DROP VIEW result_rows;

ALTER TABLE jobs ADD COLUMN needs TEXT;
ALTER TABLE jobs ADD COLUMN worker_losses INTEGER NOT NULL DEFAULT 0;

ALTER TABLE providers ADD COLUMN max_width INTEGER;
ALTER TABLE providers ADD COLUMN gates TEXT;
ALTER TABLE providers ADD COLUMN precision TEXT;

-- NULL where an older version wrote the row.
ALTER TABLE results ADD COLUMN caller BLOB CHECK (length(caller) = 32);
ALTER TABLE results ADD COLUMN content_type ANY;

-- The `at` of the result; the index finds those that are due. NULL where an older version wrote the row: such a
-- result is kept for good.
ALTER TABLE kept_results ADD COLUMN at INTEGER;
CREATE INDEX kept_results_by_at ON kept_results (at);

CREATE TABLE failures (
  job     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  code    ANY NOT NULL,
  message ANY,
  details BLOB,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- SQLite cannot drop the NOT NULL of renewals_max, so the table is built anew.
DROP INDEX live_leases;
DROP INDEX leases_by_start;
ALTER TABLE leases RENAME TO old_leases;

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
  -- NULL: it may be renewed without end.
  renewals_max   INTEGER,
  worker_id      ANY,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

INSERT INTO leases (
  job, attempt, id, status, provider_id, t_start, t_deadline, renewals, is_acked, epoch, round, digest,
  length_ms, ack_timeout_ms, renew_alpha, renew_beta, renewals_max, worker_id
)
SELECT
  job, attempt, id, status, provider_id, t_start, t_deadline, renewals, is_acked, epoch, round, digest,
  length_ms, ack_timeout_ms, renew_alpha, renew_beta, renewals_max, worker_id
FROM old_leases
ORDER BY job, attempt;

DROP TABLE old_leases;

-- No job has two live leases (STATE-4).
CREATE UNIQUE INDEX live_leases ON leases (job) WHERE status IN ('ACTIVE', 'RENEWED');
CREATE INDEX leases_by_start ON leases (t_start);

CREATE VIEW job_rows AS
SELECT
  jobs.seq, jobs.status, jobs.ended_at, jobs.caller, jobs.kind, jobs.provider_id,
  jobs.enqueue_height, jobs.tier, jobs.fee, jobs.size_bytes, jobs.model, jobs.shots, jobs.depth_hint,
  jobs.units, jobs.tokens, jobs.regions, jobs.needs, jobs.ttl_abs_secs, jobs.enqueue_ts, jobs.chain_id,
  jobs.origin, jobs.attempt, jobs.retries, jobs.declines, jobs.worker_losses, jobs.not_before,
  jobs.first_assigned_at, jobs.reason, jobs.proof_awaited_since, jobs.denials,
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
  job, provider_id, units, at, output, content_type, meta,
  '0x' || lower(hex(lease_id)) AS lease_id,
  '0x' || lower(hex(digest)) AS digest,
  '0x' || lower(hex(job_id)) AS job_id,
  CASE WHEN caller IS NOT NULL THEN '0x' || lower(hex(caller)) END AS caller_id
FROM results;

CREATE VIEW failure_rows AS
SELECT
  failures.job, failures.attempt, failures.at, failures.code, failures.message, failures.details,
  '0x' || lower(hex(jobs.id)) AS job_id
FROM failures
JOIN jobs ON jobs.seq = failures.job;
