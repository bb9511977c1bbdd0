-- prune-failures: STORE-10, a job that was kept long enough goes with its failures (TTL-3).
-- in: time before which it ended      out: a change each
DELETE FROM failures
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ?)
