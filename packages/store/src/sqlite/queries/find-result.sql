-- find-result: STORE-8, the result of the job with an id, or of the newest deleted job with it.
-- in: the first 48 bits of the id, the id      out: one row, or none
SELECT {results} FROM results
WHERE job = coalesce(
  (SELECT seq FROM jobs WHERE id48 = ?1 AND id = ?2),
  (
    SELECT max(kept_results.job) FROM kept_results
    JOIN results ON results.job = kept_results.job
    WHERE kept_results.id48 = ?1 AND results.job_id = ?2
  )
)
