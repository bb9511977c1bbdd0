-- prune-leases: STORE-10, a job that was kept long enough goes with its leases (TTL-3).
-- in: time before which it ended      out: a change each
DELETE FROM leases
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ?)
