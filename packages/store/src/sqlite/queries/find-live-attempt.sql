-- find-live-attempt: STORE-5, the live lease of a job.
-- in: number of the job      out: one row, or none
SELECT attempt FROM leases
WHERE job = ? AND status IN ('ACTIVE', 'RENEWED')
