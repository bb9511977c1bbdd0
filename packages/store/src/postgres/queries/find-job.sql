-- find-job: one job.
-- in: its id      out: one row, or none
SELECT {jobs} FROM jobs WHERE id = @id
