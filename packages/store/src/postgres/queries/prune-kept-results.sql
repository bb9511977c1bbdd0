-- prune-kept-results: STORE-10, the next results of deleted jobs to delete.
-- in: time before which a result goes, how many or null for all      out: a change each
WITH gone AS (
  DELETE FROM kept_results
  WHERE job IN (SELECT job FROM kept_results WHERE at < @results ORDER BY at, job LIMIT @limit)
  RETURNING job
)
DELETE FROM results USING gone WHERE results.job = gone.job
