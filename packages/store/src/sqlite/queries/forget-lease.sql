-- forget-lease: STORE-14, what an unfinished carrying over may have left of a new lease.
-- in: number of the job, attempt      out: one change, or none
DELETE FROM leases WHERE job = ? AND attempt = ?
