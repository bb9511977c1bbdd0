-- load-jobs: STORE-4, a page of the live jobs in order of acceptance.
-- in: number after which it begins, limit      out: a row each
SELECT {jobs} FROM jobs
WHERE ended_at IS NULL AND seq > @after
ORDER BY seq
LIMIT @limit
