-- find-job-stubs-20: STORE-6, what changes of jobs are checked by.
-- in: twenty numbers      out: a row for each job that is there
SELECT
  seq, id, status,
  EXISTS (SELECT 1 FROM leases WHERE leases.job = jobs.seq) AS has_leases
FROM jobs
WHERE seq IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
