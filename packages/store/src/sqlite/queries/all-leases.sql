-- all-leases: STORE-9, every row of leases in order.
-- in: nothing      out: a row each
SELECT {leases} FROM leases
ORDER BY id
