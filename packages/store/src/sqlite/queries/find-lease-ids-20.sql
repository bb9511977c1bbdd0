-- find-lease-ids-20: STORE-5, whether there are leases of these ids.
-- in: twenty ids      out: a row for each lease that is there
SELECT job FROM leases
WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
