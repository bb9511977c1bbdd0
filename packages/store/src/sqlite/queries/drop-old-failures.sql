-- drop-old-failures: STORE-10, failures of old attempts.
-- in: number of the job, the newest attempt that goes      out: a change each
DELETE FROM failures WHERE job = ? AND attempt <= ?
