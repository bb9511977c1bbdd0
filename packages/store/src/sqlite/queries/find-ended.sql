-- find-ended: STORE-10, whether there is anything to delete.
-- in: time before which it ended      out: one row if so
SELECT 1 FROM jobs
WHERE ended_at < ?
LIMIT 1
