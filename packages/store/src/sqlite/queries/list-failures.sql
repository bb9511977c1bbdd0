-- list-failures: the failures of a job, oldest attempt first.
-- in: id of the job      out: a row each
SELECT * FROM failure_rows
WHERE job = (
  SELECT jobs.seq FROM all_names
  JOIN jobs ON jobs.seq = all_names.job
  WHERE all_names.name = name_of(?1) AND jobs.id = ?1
)
ORDER BY attempt
