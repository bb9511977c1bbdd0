-- Version 1: the log, its leader, and the tables of the SQLite store. Text is in the order of its bytes, and has U+0000 as \0 and
-- a backslash as \\, because PostgreSQL has no U+0000. JSON keeps its text; jsonb would refuse some of it.

-- LOG-15. A record without a body is trimmed: it stays as the one that the next record names, and gives the log its number.
CREATE TABLE log (
  partition integer NOT NULL,
  seq       bigint NOT NULL,
  epoch     bigint NOT NULL,
  digest    bigint NOT NULL,
  body      bytea,
  PRIMARY KEY (partition, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- It is compressed by nobody, written once and read at most once.
ALTER TABLE log ALTER COLUMN body SET STORAGE EXTERNAL;

-- LEADER-1: the node that may append and write tables.
CREATE TABLE leaders (
  partition integer PRIMARY KEY,
  epoch     bigint NOT NULL,
  node      text COLLATE "C" NOT NULL,
  beat_at   timestamptz NOT NULL
);

-- The store itself: one row, which every apply updates.
CREATE TABLE store (
  only_one       boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  id             uuid NOT NULL DEFAULT gen_random_uuid(),
  -- All tables are as after this batch of the log.
  batch          bigint NOT NULL,
  -- The number of applies, by which one whose answer was lost is found.
  writes         bigint NOT NULL,
  -- Of the leader that wrote it. It is read from the row of the leader, so a node that leads no longer has none to write.
  epoch          bigint NOT NULL,
  -- The ends of the journal, and the hash before its first entry.
  journal_first  bigint NOT NULL,
  journal_last   bigint NOT NULL,
  journal_before bytea NOT NULL CHECK (octet_length(journal_before) = 32),
  journal_hash   bytea NOT NULL CHECK (octet_length(journal_hash) = 32),
  -- Jobs that ended before the first time, and results of deleted jobs before the second, are still to be deleted.
  prune_ended    bigint,
  prune_results  bigint
);

CREATE TABLE jobs (
  -- Number of acceptance.
  seq                 bigint PRIMARY KEY,
  id                  bytea NOT NULL CHECK (octet_length(id) = 32),
  caller              bytea NOT NULL CHECK (octet_length(caller) = 32),
  tx_hash             bytea NOT NULL CHECK (octet_length(tx_hash) = 32),
  kind                text COLLATE "C" NOT NULL,
  tier                text COLLATE "C" NOT NULL,
  fee                 numeric NOT NULL,
  size_bytes          bigint NOT NULL,
  model               text COLLATE "C",
  shots               bigint NOT NULL,
  depth_hint          bigint NOT NULL,
  units               bigint NOT NULL,
  tokens              bigint NOT NULL,
  regions             json,
  needs               json,
  ttl_abs_secs        bigint,
  enqueue_ts          bigint NOT NULL,
  chain_id            numeric NOT NULL,
  enqueue_height      numeric NOT NULL,
  origin              json,
  options             json,
  status              text COLLATE "C" NOT NULL CHECK (status IN
    ('QUEUED', 'ASSIGNED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED')),
  provider_id         text COLLATE "C",
  attempt             bigint,
  retries             bigint NOT NULL,
  declines            bigint NOT NULL,
  worker_losses       bigint NOT NULL,
  not_before          bigint,
  first_assigned_at   bigint,
  ended_at            bigint,
  reason              text COLLATE "C",
  proof_awaited_since bigint,
  -- NULL: none.
  denials             json,
  released_at         bigint,
  -- False: the engine drew the tx_hash, and no caller can know it.
  has_key             boolean NOT NULL,
  -- From options and origin, for lists.
  tags                text[],
  dedupe_key          text COLLATE "C",
  schedule            text COLLATE "C",
  -- A live job has no end, an ended job has one (TTL-3).
  CHECK ((status IN ('QUEUED', 'ASSIGNED', 'RUNNING')) = (ended_at IS NULL))
) WITH (fillfactor = 85);

-- STORE-5.
CREATE UNIQUE INDEX jobs_by_id ON jobs (id);
CREATE UNIQUE INDEX jobs_by_key ON jobs (caller, tx_hash) WHERE has_key;
CREATE INDEX live_jobs ON jobs (seq) WHERE ended_at IS NULL;
-- The first to be deleted come first.
CREATE INDEX jobs_by_end ON jobs (ended_at, seq) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_by_caller ON jobs (caller, seq);

CREATE TABLE payloads (
  job     bigint PRIMARY KEY,
  payload bytea NOT NULL
);

CREATE TABLE leases (
  job            bigint NOT NULL,
  attempt        bigint NOT NULL,
  id             bytea NOT NULL CHECK (octet_length(id) = 32),
  job_id         bytea NOT NULL CHECK (octet_length(job_id) = 32),
  provider_id    text COLLATE "C" NOT NULL,
  t_start        bigint NOT NULL,
  epoch          bigint NOT NULL,
  round          bigint NOT NULL,
  length_ms      bigint NOT NULL,
  renew_alpha    bigint NOT NULL,
  renew_beta     bigint NOT NULL,
  -- NULL: it may be renewed without end.
  renewals_max   bigint,
  status         text COLLATE "C" NOT NULL CHECK (status IN
    ('ACTIVE', 'RENEWED', 'COMPLETED', 'CANCELLED', 'EXPIRED')),
  t_deadline     bigint NOT NULL,
  renewals       bigint NOT NULL,
  is_acked       boolean NOT NULL,
  digest         bytea CHECK (octet_length(digest) = 32),
  ack_timeout_ms bigint NOT NULL,
  worker_id      text COLLATE "C",
  -- NULL: the attempt has no longest time, or was not acked.
  timeout_at     bigint,
  PRIMARY KEY (job, attempt)
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX leases_by_id ON leases (id);
CREATE INDEX leases_by_start ON leases (t_start);
-- No job has two live leases (STATE-4).
CREATE UNIQUE INDEX live_leases ON leases (job) WHERE status IN ('ACTIVE', 'RENEWED');

CREATE TABLE results (
  job          bigint PRIMARY KEY,
  job_id       bytea NOT NULL CHECK (octet_length(job_id) = 32),
  caller       bytea CHECK (octet_length(caller) = 32),
  lease_id     bytea NOT NULL CHECK (octet_length(lease_id) = 32),
  provider_id  text COLLATE "C" NOT NULL,
  digest       bytea NOT NULL CHECK (octet_length(digest) = 32),
  units        bigint NOT NULL,
  at           bigint NOT NULL,
  output       bytea,
  content_type text COLLATE "C",
  meta         bytea,
  claim        json
);

CREATE INDEX results_by_job_id ON results (job_id, job);

-- Results whose jobs were deleted. Until then the job leads to its result.
CREATE TABLE kept_results (
  job bigint PRIMARY KEY,
  at  bigint NOT NULL
);

CREATE INDEX kept_results_by_at ON kept_results (at, job);

CREATE TABLE failures (
  job     bigint NOT NULL,
  attempt bigint NOT NULL,
  job_id  bytea NOT NULL CHECK (octet_length(job_id) = 32),
  at      bigint NOT NULL,
  code    text COLLATE "C" NOT NULL,
  message text COLLATE "C",
  details bytea,
  PRIMARY KEY (job, attempt)
);

-- One row for each entry: audit log, events and timelines.
CREATE TABLE journal (
  seq          bigint PRIMARY KEY,
  at           bigint NOT NULL,
  actor        text COLLATE "C" NOT NULL,
  action       text COLLATE "C" NOT NULL,
  subject      text COLLATE "C" NOT NULL,
  job          bigint,
  details      json,
  -- CBOR, where details contain bytes or integers that JSON does not keep.
  details_cbor bytea,
  hash         bytea NOT NULL CHECK (octet_length(hash) = 32),
  CHECK ((details IS NULL) <> (details_cbor IS NULL))
);

CREATE INDEX journal_by_job ON journal (job, seq) WHERE job IS NOT NULL;

CREATE TABLE providers (
  id              text COLLATE "C" PRIMARY KEY,
  status          text COLLATE "C" NOT NULL CHECK (status IN
    ('REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED', 'PAUSED')),
  capabilities    json NOT NULL,
  models          json NOT NULL,
  platforms       json NOT NULL,
  max_depth       bigint,
  max_shots       bigint,
  max_width       bigint,
  gates           json,
  precision       json,
  region          text COLLATE "C",
  allow           json,
  deny            json NOT NULL,
  leases_max      bigint,
  stake           numeric NOT NULL,
  standing        json NOT NULL,
  public_key      text COLLATE "C",
  attestation     json,
  last_heartbeat  bigint NOT NULL,
  credited_at     bigint,
  silent_steps    bigint NOT NULL,
  health          bigint NOT NULL,
  failures        bigint NOT NULL,
  cooldown_until  bigint,
  class_cooldowns json NOT NULL,
  units           json NOT NULL,
  workers         json
) WITH (fillfactor = 70);

CREATE TABLE shares (
  kind   text COLLATE "C" NOT NULL,
  caller bytea NOT NULL CHECK (octet_length(caller) = 32),
  finish numeric NOT NULL,
  PRIMARY KEY (kind, caller)
);

-- Limits, sessions, budgets and tokens, piece by piece; the engine knows what a value means.
CREATE TABLE lanes (
  lane  text COLLATE "C" NOT NULL,
  key   text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (lane, key)
);

CREATE TABLE rounds (
  height       bigint NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  seed         bytea NOT NULL CHECK (octet_length(seed) = 32),
  batch_digest bytea NOT NULL CHECK (octet_length(batch_digest) = 32),
  batch_size   bigint NOT NULL,
  match_order  text COLLATE "C" NOT NULL CHECK (match_order IN ('first-fit', 'rotate', 'score')),
  providers    json NOT NULL,
  ranks        json,
  assignments  json NOT NULL,
  refusals     json NOT NULL,
  PRIMARY KEY (height, kind)
);

CREATE TABLE settlements (
  epoch_id bigint PRIMARY KEY,
  batch_id bytea NOT NULL CHECK (octet_length(batch_id) = 32),
  at       bigint NOT NULL,
  -- JSON.
  batch    text COLLATE "C" NOT NULL,
  policy   text COLLATE "C" NOT NULL,
  -- The lines that it leaves due, as CBOR.
  due      bytea NOT NULL
);

-- The lines of a provider in an epoch, as CBOR.
CREATE TABLE settlement_parts (
  epoch_id    bigint NOT NULL,
  provider_id text COLLATE "C" NOT NULL,
  part        bigint NOT NULL,
  body        bytea NOT NULL,
  PRIMARY KEY (epoch_id, provider_id, part)
);

CREATE TABLE meta (
  name  text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);

INSERT INTO log VALUES (0, 0, 0, 0, NULL);
INSERT INTO leaders VALUES (0, 0, '', now());
INSERT INTO store (batch, writes, epoch, journal_first, journal_last, journal_before, journal_hash)
VALUES (0, 0, 0, 1, 0, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'));

-- For people: ids as text, times as dates.

CREATE VIEW job_list AS
SELECT
  seq, '0x' || encode(id, 'hex') AS id, status, kind, model, provider_id, attempt, retries, reason,
  to_timestamp(enqueue_ts / 1000.0) AS enqueued,
  to_timestamp(first_assigned_at / 1000.0) AS first_assigned,
  to_timestamp(ended_at / 1000.0) AS ended,
  '0x' || encode(caller, 'hex') AS caller, '0x' || encode(tx_hash, 'hex') AS tx_hash
FROM jobs;

CREATE VIEW lease_list AS
SELECT
  job, attempt, '0x' || encode(id, 'hex') AS id, status, provider_id, worker_id, renewals, is_acked,
  to_timestamp(t_start / 1000.0) AS start,
  to_timestamp(t_deadline / 1000.0) AS deadline
FROM leases;

CREATE VIEW result_list AS
SELECT
  job, '0x' || encode(job_id, 'hex') AS job_id, provider_id, units, content_type, octet_length(output) AS output_bytes,
  to_timestamp(at / 1000.0) AS at
FROM results;

CREATE VIEW failure_list AS
SELECT job, attempt, code, message, to_timestamp(at / 1000.0) AS at FROM failures;

CREATE VIEW journal_list AS
SELECT
  seq, to_timestamp(at / 1000.0) AS at, actor, action, subject, job,
  coalesce(details::text, 'cbor ' || encode(details_cbor, 'hex')) AS details
FROM journal;
