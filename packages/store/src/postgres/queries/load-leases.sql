-- load-leases: STORE-4, the leases of the live jobs between two numbers.
-- in: the number before the first, the last      out: a row each
SELECT {leases} FROM jobs
JOIN leases ON leases.job = jobs.seq
WHERE jobs.ended_at IS NULL AND jobs.seq > @after AND jobs.seq <= @last
