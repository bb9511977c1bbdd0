-- list-leases: STORE-8, the leases of a job by attempt.
-- in: the first 48 bits of its id, its id      out: a row each
SELECT {leases} FROM jobs
JOIN leases ON leases.job = jobs.seq
WHERE jobs.id48 = ? AND jobs.id = ?
ORDER BY leases.attempt
