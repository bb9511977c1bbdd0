-- find-job-by-key: STORE-5, the job that a caller enqueued under a tx_hash.
-- in: the hash of both, caller, tx_hash      out: one row, or none
SELECT {jobs}, {payloads} FROM jobs
JOIN payloads ON payloads.job = jobs.seq
WHERE jobs.key_hash = ? AND jobs.caller = ? AND jobs.tx_hash = ?
