-- prune-named-results: STORE-22, the results that go with jobs to delete that are named.
-- in: a list of numbers of jobs in JSON, time before which a result goes or null for none
-- out: a change each
DELETE FROM results
WHERE job IN (SELECT value FROM json_each(?1)) AND at < ?2
  AND job IN (SELECT seq FROM jobs WHERE ended_at IS NOT NULL)
