-- find-entries: STORE-8, the numbers of the entries about a job.
-- in: id of the job      out: one row, or none
SELECT jobs.entries FROM all_names
JOIN jobs ON jobs.seq = all_names.job
WHERE all_names.name = name_of(?1) AND jobs.id = ?1
