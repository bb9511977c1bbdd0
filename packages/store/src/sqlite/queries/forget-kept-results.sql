-- forget-kept-results: STORE-10, the ways to these results.
-- in: time before which a result goes, how many      out: a change each
DELETE FROM kept_results
WHERE (id48, job) IN (SELECT id48, job FROM kept_results WHERE at < ? ORDER BY at, id48, job LIMIT ?)
