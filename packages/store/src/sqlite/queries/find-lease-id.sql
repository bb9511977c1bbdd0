-- find-lease-id: whether there is a lease of this id.
-- in: id      out: one row, or none
SELECT job FROM leases WHERE id = ?
