-- find-lease-stub: STORE-6, what a change of a lease is checked by.
-- in: number of the job, attempt      out: one row, or none
SELECT id, status FROM leases WHERE job = ? AND attempt = ?
