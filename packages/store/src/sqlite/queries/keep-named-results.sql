-- keep-named-results: STORE-22, the results that stay of jobs to delete that are named.
-- in: a list of numbers of jobs in JSON, time before which a result goes or null for none
-- out: a change each
INSERT INTO kept_results (id48, job, at)
SELECT jobs.id48, jobs.seq, results.at FROM jobs
JOIN results ON results.job = jobs.seq
WHERE jobs.seq IN (SELECT value FROM json_each(?1)) AND jobs.ended_at IS NOT NULL
  AND (?2 IS NULL OR results.at >= ?2)
