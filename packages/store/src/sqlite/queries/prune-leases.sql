-- prune-leases: STORE-10, the leases of the next jobs to delete.
-- in: time before which the jobs ended, how many jobs      out: a change each
DELETE FROM leases
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ? ORDER BY ended_at, seq LIMIT ?)
