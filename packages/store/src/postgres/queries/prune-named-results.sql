-- prune-named-results: STORE-22, the results that go with jobs to delete that are named.
-- in: as keep-named-results      out: a change each
DELETE FROM results
WHERE job IN (SELECT seq FROM jobs WHERE seq = ANY (@jobs::bigint[]) AND ended_at IS NOT NULL)
  AND at < @results::bigint
