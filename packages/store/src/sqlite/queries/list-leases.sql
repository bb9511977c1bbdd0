-- list-leases: the leases of a job, oldest first.
-- in: id of the job      out: a row each
SELECT lease_rows.* FROM names
JOIN jobs ON jobs.seq = names.job
JOIN lease_rows ON lease_rows.job = names.job
WHERE names.name = name_of(?1) AND jobs.id = ?1
ORDER BY lease_rows.attempt
