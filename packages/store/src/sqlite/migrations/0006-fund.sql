-- Version 6: what a fund needs. Providers have the facts that their status follows from, and a key. A result shows its
-- claim. Settled epochs are kept for good.

CREATE TABLE providers_6 (
  id              TEXT PRIMARY KEY,
  status          TEXT NOT NULL CHECK (status IN
    ('REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED', 'PAUSED')),
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
  standing        TEXT NOT NULL,
  public_key      TEXT,
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

-- 9007199254740991: JAILED until an operator's word.
INSERT INTO providers_6
SELECT
  id, status, capabilities, models, platforms, max_depth, max_shots, max_width, gates, precision, region, allow, deny,
  leases_max, stake,
  json_object(
    'retired', json(iif(status = 'RETIRED', 'true', 'false')),
    'jailedUntil', iif(status = 'JAILED', 9007199254740991, NULL),
    'suspended', json(iif(status = 'SUSPENDED', 'true', 'false')),
    'paused', json('false'),
    'admitted', json(iif(status = 'REGISTERED', 'false', 'true'))
  ),
  NULL, attestation, last_heartbeat, credited_at, silent_steps, health, failures, cooldown_until, class_cooldowns, units,
  workers
FROM providers;

DROP TABLE providers;
ALTER TABLE providers_6 RENAME TO providers;

-- JSON; NULL where the kind of the job has no proofs.
ALTER TABLE results ADD COLUMN claim TEXT;

CREATE TABLE settlements (
  epoch_id INTEGER PRIMARY KEY,
  batch_id BLOB NOT NULL CHECK (length(batch_id) = 32),
  at       INTEGER NOT NULL,
  -- JSON.
  batch    TEXT NOT NULL,
  policy   TEXT NOT NULL,
  -- The lines that it leaves due, as CBOR.
  due      BLOB NOT NULL
) STRICT;

-- The lines of a provider in an epoch, as CBOR.
CREATE TABLE settlement_parts (
  epoch_id    INTEGER NOT NULL,
  provider_id TEXT NOT NULL,
  part        INTEGER NOT NULL,
  body        BLOB NOT NULL,
  PRIMARY KEY (epoch_id, provider_id, part)
) STRICT;

-- For people: a payout is what a batch says of all providers together.
CREATE VIEW settlement_list AS
SELECT
  epoch_id, '0x' || lower(hex(batch_id)) AS batch_id,
  strftime('%Y-%m-%d %H:%M:%f', at / 1000.0, 'unixepoch') AS at,
  json_extract(batch, '$.totals.claims') AS claims, json_extract(batch, '$.totals.paid') AS paid,
  json_extract(batch, '$.totals.slashed') AS slashed
FROM settlements;
