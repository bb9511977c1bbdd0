-- all-jobs: STORE-9, every row of jobs in order.
-- in: nothing      out: a row each
SELECT * FROM jobs
ORDER BY id
