-- list-job-keys: a page of the callers and tx_hashes of all jobs, in order of acceptance.
-- in: number after which it begins, limit      out: a row each
SELECT jobs.seq, callers.id AS caller, jobs.tx_hash
FROM jobs
JOIN callers ON callers.no = jobs.caller
WHERE jobs.seq > ?
ORDER BY jobs.seq
LIMIT ?
