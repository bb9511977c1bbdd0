-- forget-kept-results: STORE-10, what led to results that prune-kept-results deleted.
-- in: time before which a result is due      out: a change each
DELETE FROM kept_results
WHERE at < ?
