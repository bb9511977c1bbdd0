-- write-result: STORE-7, the result of a job.
-- in: the columns, in the order of putResult      out: one change
INSERT OR REPLACE INTO results (
  job, job_id, caller, lease_id, provider_id, digest, units, at, output, content_type, meta
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
