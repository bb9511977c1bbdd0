-- prune-results: STORE-10, the results that go with the next jobs to delete.
-- in: time before which the jobs ended, how many jobs, time before which a result goes or null for none
-- out: a change each
DELETE FROM results
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ?1 ORDER BY ended_at, seq LIMIT ?2) AND at < ?3
