-- results: the results of the jobs between two numbers that are there.
-- in: the number before the first, the last      out: the columns of RESULT
SELECT job, job_id, caller, lease_id, provider_id, digest, units, at, output, content_type, meta, NULL
FROM results
WHERE job > ? AND job <= ? AND job IN (SELECT seq FROM jobs)
