-- find-job: one job.
-- in: id      out: one row, or none
SELECT job_rows.* FROM names
JOIN job_rows ON job_rows.seq = names.job
JOIN jobs ON jobs.seq = names.job
WHERE names.name = name_of(?1) AND jobs.id = ?1
