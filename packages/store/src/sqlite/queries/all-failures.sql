-- all-failures: STORE-9, every row of failures in order.
-- in: nothing      out: a row each
SELECT {failures} FROM failures
ORDER BY job_id, attempt
