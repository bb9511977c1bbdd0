-- drop-old-failures: STORE-10, failures of old attempts.
-- in: lists of jobs, and of the newest attempt that goes of each      out: a change each
DELETE FROM failures USING unnest(@jobs::bigint[], @attempts::bigint[]) AS n (job, attempt)
WHERE failures.job = n.job AND failures.attempt <= n.attempt
