-- all-jobs: STORE-9, every row of jobs in order.
-- in: nothing      out: a row each
SELECT {jobs} FROM jobs
ORDER BY id
