-- find-outputs-20: STORE-16, what jobs brought.
-- in: twenty numbers of jobs      out: a row for each job with a result
SELECT job, output, meta FROM results
WHERE job IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
