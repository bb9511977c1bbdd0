-- list-keys: the keys of the next jobs that a caller can ask for again, for a filter.
-- in: number of acceptance, limit      out: number, caller, tx_hash
SELECT seq, caller, tx_hash FROM jobs
WHERE seq > @after AND has_key
ORDER BY seq
LIMIT @limit
