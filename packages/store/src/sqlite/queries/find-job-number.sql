-- find-job-number: the number of a job.
-- in: id      out: one row, or none
SELECT jobs.seq FROM all_names
JOIN jobs ON jobs.seq = all_names.job
WHERE all_names.name = name_of(?1) AND jobs.id = ?1
