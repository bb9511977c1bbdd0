-- update-leases: STORE-6, what became of leases. An ended lease keeps its status (STATE-3).
-- in: lists of the columns of LEASE_CHANGE      out: a change for each that is there and has not ended otherwise
UPDATE leases SET {set}
FROM {rows}
WHERE leases.job = n.job AND leases.attempt = n.attempt AND leases.id = n.id
  AND (leases.status IN ('ACTIVE', 'RENEWED') OR leases.status = n.status)
