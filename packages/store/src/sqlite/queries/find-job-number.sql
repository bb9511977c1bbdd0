-- find-job-number: the number of a job.
-- in: id      out: one row, or none
SELECT jobs.seq FROM names
JOIN jobs ON jobs.seq = names.job
WHERE names.name = name_of(?1) AND jobs.id = ?1
