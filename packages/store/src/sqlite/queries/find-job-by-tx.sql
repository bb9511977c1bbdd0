-- find-job-by-tx: the job that a request led to; caller and tx_hash are those of one job at most.
-- in: id of the caller, tx_hash      out: one row, or none
SELECT '0x' || lower(hex(jobs.id)) AS job_id, payloads.payload
FROM all_names
JOIN jobs ON jobs.seq = all_names.job
JOIN payloads ON payloads.job = jobs.seq
WHERE all_names.name = name_of_key(?1, ?2) AND jobs.tx_hash = ?2
  AND jobs.caller = (SELECT no FROM callers WHERE id = ?1)
