-- list-leases: the leases of a job, oldest first.
-- in: id of the job      out: a row each
SELECT * FROM lease_rows
WHERE job = (
  SELECT jobs.seq FROM all_names
  JOIN jobs ON jobs.seq = all_names.job
  WHERE all_names.name = name_of(?1) AND jobs.id = ?1
)
ORDER BY attempt
