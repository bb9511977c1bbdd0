-- kept-results: a page of the results whose jobs were deleted.
-- in: number after which it begins, limit      out: the columns of RESULT
SELECT job, job_id, caller, lease_id, provider_id, digest, units, at, output, content_type, meta, NULL
FROM results
WHERE job > ? AND job NOT IN (SELECT seq FROM jobs)
ORDER BY job
LIMIT ?
