-- keep-results: STORE-10, the results of jobs that are about to be deleted stay to be found.
-- in: time before which the job ended      out: a change each
INSERT OR IGNORE INTO kept_results (job_id, job)
SELECT jobs.id, jobs.seq FROM jobs
JOIN results ON results.job = jobs.seq
WHERE jobs.ended_at < ?
