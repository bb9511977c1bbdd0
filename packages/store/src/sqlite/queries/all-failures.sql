-- all-failures: STORE-9, every failure in order of its job's id, then of its attempt.
-- in: nothing      out: a row each
SELECT * FROM failure_rows
ORDER BY job_id, attempt
