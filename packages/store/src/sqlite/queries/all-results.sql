-- all-results: STORE-9, every result in order of its job's id.
-- in: nothing      out: a row each
SELECT * FROM result_rows
ORDER BY job_id
