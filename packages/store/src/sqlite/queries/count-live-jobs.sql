-- count-live-jobs: STORE-4, how many jobs are alive.
-- in: nothing      out: one row
SELECT count(*) AS live FROM jobs
WHERE ended_at IS NULL
