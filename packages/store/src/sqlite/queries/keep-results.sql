-- keep-results: STORE-10, the results that stay of the next jobs to delete.
-- in: time before which the jobs ended, how many jobs, time before which a result goes or null for none
-- out: a change each
INSERT INTO kept_results (id48, job, at)
SELECT jobs.id48, jobs.seq, results.at FROM jobs
JOIN results ON results.job = jobs.seq
WHERE jobs.seq IN (SELECT seq FROM jobs WHERE ended_at < ?1 ORDER BY ended_at, seq LIMIT ?2)
  AND (?3 IS NULL OR results.at >= ?3)
