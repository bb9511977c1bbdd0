-- write-result: STORE-7, the result of a job.
-- in: the columns, in the order of putResult      out: one change
INSERT OR REPLACE INTO results (job, job_id, lease_id, provider_id, digest, units, at, output, meta)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
