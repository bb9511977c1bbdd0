-- find-job: one job.
-- in: the first 48 bits of its id, its id      out: one row, or none
SELECT {jobs} FROM jobs
WHERE id48 = ? AND id = ?
