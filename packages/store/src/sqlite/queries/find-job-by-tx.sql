-- find-job-by-tx: the job that a request led to; (caller, tx_hash) is unique.
-- in: id of the caller, tx_hash      out: one row, or none
SELECT '0x' || lower(hex(jobs.id)) AS job_id, payloads.payload
FROM jobs
JOIN payloads ON payloads.job = jobs.seq
WHERE jobs.caller = (SELECT no FROM callers WHERE id = ?) AND jobs.tx_hash = ?
