-- list-assignments: STORE-8, the assignments since a time, oldest first.
-- in: the time      out: a row each
SELECT {jobs}, {leases} FROM leases
JOIN jobs ON jobs.seq = leases.job
WHERE leases.t_start >= ?
ORDER BY leases.t_start, leases.attempt, leases.job
