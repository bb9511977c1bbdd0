-- insert-lease: STORE-5, a new lease; an attempt of a job is one lease.
-- in: the columns, in the order of putLease
-- out: one change
INSERT OR ROLLBACK INTO leases (
  job, attempt, id, provider_id, t_start, epoch, round, length_ms, renew_alpha, renew_beta,
  renewals_max, status, t_deadline, renewals, is_acked, digest, ack_timeout_ms, worker_id
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
