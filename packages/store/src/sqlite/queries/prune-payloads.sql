-- prune-payloads: STORE-10, a job that was kept long enough goes with its payload (TTL-3).
-- in: time before which it ended      out: a change each
DELETE FROM payloads
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ?)
