-- find-job: one job.
-- in: id      out: one row, or none
SELECT * FROM job_rows
WHERE no = (SELECT no FROM ids WHERE id = ?)
