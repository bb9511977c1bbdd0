-- all-jobs: STORE-9, every job in order of its id.
-- in: nothing      out: a row each
SELECT * FROM job_rows
ORDER BY id
