-- find-entries: STORE-8, the numbers of the entries about a job.
-- in: id of the job      out: one row, or none
SELECT jobs.entries FROM names
JOIN jobs ON jobs.seq = names.job
WHERE names.name = name_of(?1) AND jobs.id = ?1
