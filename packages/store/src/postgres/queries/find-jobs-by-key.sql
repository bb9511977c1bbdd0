-- find-jobs-by-key: STORE-5, the jobs that callers enqueued under tx_hashes.
-- in: lists of callers and tx_hashes      out: caller, tx_hash, id, payload of each that is there
SELECT jobs.caller, jobs.tx_hash, jobs.id, payloads.payload
FROM unnest(@callers::bytea[], @tx_hashes::bytea[]) AS n (caller, tx_hash)
JOIN jobs ON jobs.has_key AND jobs.caller = n.caller AND jobs.tx_hash = n.tx_hash
JOIN payloads ON payloads.job = jobs.seq
