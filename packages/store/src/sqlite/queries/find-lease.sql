-- find-lease: one lease.
-- in: id      out: one row, or none
SELECT * FROM lease_rows
WHERE (job, attempt) = (SELECT job, attempt FROM leases WHERE id = ?)
