-- keep-named-results: STORE-22, the results that stay of jobs to delete that are named.
-- in: numbers of jobs, time before which a result goes or null for none
-- out: a change each
INSERT INTO kept_results (job, at)
SELECT results.job, results.at FROM results
JOIN jobs ON jobs.seq = results.job
WHERE jobs.seq = ANY (@jobs::bigint[]) AND jobs.ended_at IS NOT NULL
  AND (@results::bigint IS NULL OR results.at >= @results::bigint)
