-- list-assignments: who was assigned something since a time.
-- in: time      out: a row for each lease, oldest first
SELECT '0x' || lower(hex(callers.id)) AS caller_id, leases.t_start
FROM leases
JOIN jobs ON jobs.seq = leases.job
JOIN callers ON callers.no = jobs.caller
WHERE leases.t_start >= ?
ORDER BY leases.t_start, leases.attempt, jobs.seq
