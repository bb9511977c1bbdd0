-- drop-old-failures: STORE-10, a job keeps the failures of its newest attempts.
-- in: number of the job, the last attempt whose failure goes      out: a change each
DELETE FROM failures
WHERE job = ? AND attempt <= ?
