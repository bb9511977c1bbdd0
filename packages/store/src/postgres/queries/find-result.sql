-- find-result: STORE-8, the result of the job with an id, or of the newest deleted job with it.
-- in: the id      out: one row, or none
SELECT {results} FROM results
WHERE job = coalesce(
  (SELECT seq FROM jobs WHERE id = @id),
  (SELECT max(job) FROM results WHERE job_id = @id)
)
