-- list-leases: the leases of a job, oldest first.
-- in: id of the job      out: a row each
SELECT * FROM lease_rows
WHERE job = (SELECT seq FROM jobs WHERE id = ?)
ORDER BY attempt
