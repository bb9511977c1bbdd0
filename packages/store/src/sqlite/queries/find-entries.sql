-- find-entries: STORE-8, the numbers of the entries about a job.
-- in: id of the job      out: one row, or none
SELECT entries FROM jobs
WHERE id = ?
