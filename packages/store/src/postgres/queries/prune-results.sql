-- prune-results: STORE-10, the results that go with the next jobs to delete.
-- in: as keep-results      out: a change each
DELETE FROM results
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < @ended ORDER BY ended_at, seq LIMIT @limit)
  AND at < @results::bigint
