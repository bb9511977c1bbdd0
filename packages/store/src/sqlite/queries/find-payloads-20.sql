-- find-payloads-20: the canonical payloads of jobs.
-- in: twenty numbers of jobs      out: a row for each job that is there
SELECT job, payload FROM payloads
WHERE job IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
