-- prune-jobs: STORE-10, a job that was kept long enough is deleted (TTL-3). Its payload and leases go first.
-- in: time before which it ended      out: a change each
DELETE FROM jobs
WHERE ended_at < ?
