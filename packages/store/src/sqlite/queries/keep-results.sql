-- keep-results: STORE-10, the results of jobs that are about to be deleted stay to be found, unless they are due.
-- in: time before which the job ended, time before which a result is due or null for none      out: a change each
INSERT OR IGNORE INTO kept_results (job_id, job, at)
SELECT jobs.id, jobs.seq, results.at FROM jobs
JOIN results ON results.job = jobs.seq
WHERE jobs.ended_at < ?1 AND (?2 IS NULL OR results.at >= ?2)
