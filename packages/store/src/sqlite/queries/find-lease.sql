-- find-lease: one lease.
-- in: the first 48 bits of its id, its id      out: one row, or none
SELECT {leases} FROM leases
WHERE id48 = ? AND id = ?
