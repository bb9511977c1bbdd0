-- load-jobs: STORE-4, a page of the jobs that are alive, in order of acceptance.
-- in: number after which it begins, limit      out: a row each
SELECT * FROM job_rows
WHERE ended_at IS NULL AND seq > ?
ORDER BY seq
LIMIT ?
