-- list-keys: the keys of the next jobs that a caller can ask for again, for a filter.
-- in: number of acceptance, limit      out: number, caller, tx_hash, their hash
SELECT seq, caller, tx_hash, key_hash FROM jobs
WHERE seq > ? AND key_hash IS NOT NULL
ORDER BY seq
LIMIT ?
