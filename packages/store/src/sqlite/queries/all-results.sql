-- all-results: STORE-9, every row of results in order.
-- in: nothing      out: a row each
SELECT
  job, job_id, caller, lease_id, provider_id, digest, units, at, output, content_type, meta, claim, crc
FROM results
ORDER BY job_id, job
