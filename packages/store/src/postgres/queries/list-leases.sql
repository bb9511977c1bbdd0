-- list-leases: STORE-8, the leases of a job by attempt.
-- in: its id      out: a row each
SELECT {leases} FROM jobs
JOIN leases ON leases.job = jobs.seq
WHERE jobs.id = @id
ORDER BY leases.attempt
