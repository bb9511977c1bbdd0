-- find-lease: one lease.
-- in: its id      out: one row, or none
SELECT {leases} FROM leases WHERE id = @id
