-- find-job: one job.
-- in: id      out: one row, or none
SELECT job_rows.* FROM all_names
JOIN job_rows ON job_rows.seq = all_names.job
JOIN jobs ON jobs.seq = all_names.job
WHERE all_names.name = name_of(?1) AND jobs.id = ?1
