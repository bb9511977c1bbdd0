-- find-last-job: the highest number of a job.
-- in: nothing      out: one row, or none while there are no jobs
SELECT seq FROM jobs ORDER BY seq DESC LIMIT 1
