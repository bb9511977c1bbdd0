-- all-results: STORE-9, every result in order of its job's id, then of its job's number.
-- in: nothing      out: a row each
SELECT * FROM result_rows
ORDER BY job_id, job
