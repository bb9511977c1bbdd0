-- prune-kept-results: STORE-10, the next results of deleted jobs to delete. forget-kept-results follows.
-- in: time before which a result goes, how many      out: a change each
DELETE FROM results
WHERE job IN (SELECT job FROM kept_results WHERE at < ? ORDER BY at, id48, job LIMIT ?)
