-- prune-jobs: STORE-10, the next jobs to delete. Their other rows go first.
-- in: time before which they ended, how many      out: a change each
DELETE FROM jobs
WHERE seq IN (SELECT seq FROM jobs WHERE ended_at < ? ORDER BY ended_at, seq LIMIT ?)
