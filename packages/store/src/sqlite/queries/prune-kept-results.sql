-- prune-kept-results: STORE-10, results that outlived their jobs and are due. forget-kept-results follows.
-- in: time before which a result is due      out: a change each
DELETE FROM results
WHERE job IN (SELECT job FROM kept_results WHERE at < ?)
