/**
 * The SQL of the outbox. It stands in the code and not in files: an application that is bundled into one file has no
 * others beside it.
 */

/** The channel on which a relay hears of new rows. */
export const CHANNEL = 'fairlead_outbox'

export const POSTGRES = {
  create: `CREATE TABLE IF NOT EXISTS fairlead_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  idempotency_key text NOT NULL DEFAULT gen_random_uuid()::text,
  -- The params of aicf.enqueue. The type json keeps the text as it was written.
  request json NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  -- Set when the server refused the row: it is skipped until somebody clears the field.
  refused_at timestamptz,
  refusal text
);
CREATE INDEX IF NOT EXISTS fairlead_outbox_waiting ON fairlead_outbox (id) WHERE refused_at IS NULL;
`,
  notify: `CREATE OR REPLACE FUNCTION fairlead_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('${CHANNEL}', '');
  RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER fairlead_outbox_written AFTER INSERT ON fairlead_outbox
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead_outbox_notify();
`,
  // As text, or a client that looks at types would write the text as a JSON string.
  write: 'INSERT INTO fairlead_outbox (idempotency_key, request) VALUES ($1, $2::text::json)',
  // Rows that another relay holds are left to it. READ COMMITTED, whatever the default is: a later
  // snapshot than that of the transaction must not be an error.
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  take: `SELECT id::text, idempotency_key, request::text
FROM fairlead_outbox
WHERE refused_at IS NULL
ORDER BY fairlead_outbox.id
LIMIT $1
FOR UPDATE SKIP LOCKED`,
  isLeft: 'SELECT 1 FROM fairlead_outbox WHERE refused_at IS NULL LIMIT 1',
  remove: 'DELETE FROM fairlead_outbox WHERE id = ANY ($1::bigint[])',
  refuse: `UPDATE fairlead_outbox SET refused_at = now(), refusal = given.refusal
FROM unnest($1::bigint[], $2::text[]) AS given (id, refusal)
WHERE fairlead_outbox.id = given.id`,
} as const

export const SQLITE = {
  // Without AUTOINCREMENT an id could be given again, and a second relay would remove another row by it.
  create: `CREATE TABLE IF NOT EXISTS fairlead_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  idempotency_key TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  -- The params of aicf.enqueue as JSON.
  request TEXT NOT NULL,
  -- Milliseconds since 1970, as is refused_at.
  written_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  -- Set when the server refused the row: it is skipped until somebody clears the field.
  refused_at INTEGER,
  refusal TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS fairlead_outbox_waiting ON fairlead_outbox (id) WHERE refused_at IS NULL;
`,
  write: 'INSERT INTO fairlead_outbox (idempotency_key, request) VALUES (?, ?)',
  take: `SELECT id, idempotency_key, request
FROM fairlead_outbox
WHERE refused_at IS NULL
ORDER BY id
LIMIT ?`,
  // One statement each, so that each is a transaction.
  remove: 'DELETE FROM fairlead_outbox WHERE id IN (SELECT value FROM json_each(?))',
  refuse: `UPDATE fairlead_outbox
SET refused_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), refusal = given.value ->> 1
FROM json_each(?) AS given
WHERE fairlead_outbox.id = given.value ->> 0`,
} as const
