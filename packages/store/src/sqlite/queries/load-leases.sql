-- load-leases: STORE-4, the leases of all jobs that are alive, oldest first.
-- in: nothing      out: a row each
SELECT lease_rows.*
FROM jobs
JOIN lease_rows ON lease_rows.job = jobs.seq
WHERE jobs.ended_at IS NULL
ORDER BY lease_rows.t_start, lease_rows.attempt, jobs.seq
