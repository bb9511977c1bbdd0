-- all-results: STORE-9, every row of results in order.
-- in: nothing      out: a row each
SELECT {results} FROM results
ORDER BY job_id, job
