-- load-jobs: STORE-4, the jobs that are alive, in order of acceptance.
-- in: nothing      out: a row each
SELECT * FROM job_rows
WHERE ended_at IS NULL
ORDER BY seq
