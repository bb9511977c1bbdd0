-- find-due-result: STORE-10, whether a result that outlived its job is to be deleted.
-- in: time before which a result is due      out: one row if so
SELECT 1 FROM kept_results
WHERE at < ?
LIMIT 1
