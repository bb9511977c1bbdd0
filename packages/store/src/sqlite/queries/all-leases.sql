-- all-leases: STORE-9, every lease in order of its id.
-- in: nothing      out: a row each
SELECT * FROM lease_rows
ORDER BY id
