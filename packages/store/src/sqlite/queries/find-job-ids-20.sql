-- find-job-ids-20: STORE-5, whether there are jobs of these ids.
-- in: twenty ids      out: a row for each job that is there
SELECT seq FROM jobs
WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
