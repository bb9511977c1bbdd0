-- find-payload: the canonical payload of a job.
-- in: number of the job      out: one row, or none
SELECT {payloads} FROM payloads
WHERE job = ?
