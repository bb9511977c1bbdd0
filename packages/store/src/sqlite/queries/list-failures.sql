-- list-failures: STORE-8, why attempts of a job failed, the oldest first.
-- in: the first 48 bits of its id, its id      out: a row each
SELECT {failures} FROM jobs
JOIN failures ON failures.job = jobs.seq
WHERE jobs.id48 = ? AND jobs.id = ?
ORDER BY failures.attempt
