-- keep-results: STORE-10, the results that stay of the next jobs to delete.
-- in: time before which the jobs ended, how many jobs or null for all, time before which a result goes or null for none
-- out: a change each
INSERT INTO kept_results (job, at)
SELECT results.job, results.at FROM results
WHERE results.job IN (SELECT seq FROM jobs WHERE ended_at < @ended ORDER BY ended_at, seq LIMIT @limit)
  AND (@results::bigint IS NULL OR results.at >= @results::bigint)
