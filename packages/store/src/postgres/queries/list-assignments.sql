-- list-assignments: STORE-8, the assignments since a time, oldest first.
-- in: the time      out: caller and time of each
SELECT jobs.caller, leases.t_start FROM leases
JOIN jobs ON jobs.seq = leases.job
WHERE leases.t_start >= @since
ORDER BY leases.t_start, leases.attempt, leases.job
