-- find-job: one job.
-- in: id      out: one row, or none
SELECT * FROM job_rows
WHERE seq = (SELECT seq FROM jobs WHERE id = ?)
