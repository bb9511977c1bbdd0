-- update-lease: STORE-6, what became of a lease. An ended lease keeps its status (STATE-3).
-- in: the columns in the order of LEASE_CHANGE, their sum      out: one change, or none if there is no such lease or it ended otherwise
UPDATE OR ROLLBACK leases SET
  status = ?4, t_deadline = ?5, renewals = ?6, is_acked = ?7, digest = ?8, ack_timeout_ms = ?9,
  worker_id = ?10, timeout_at = ?11, state_sum = ?12
WHERE job = ?1 AND attempt = ?2 AND id = ?3
  AND (status IN ('ACTIVE', 'RENEWED') OR status = ?4)
