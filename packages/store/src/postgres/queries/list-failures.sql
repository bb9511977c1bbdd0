-- list-failures: STORE-8, why attempts of a job failed, the oldest first.
-- in: its id      out: a row each
SELECT {failures} FROM jobs
JOIN failures ON failures.job = jobs.seq
WHERE jobs.id = @id
ORDER BY failures.attempt
