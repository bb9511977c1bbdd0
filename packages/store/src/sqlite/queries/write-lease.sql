-- write-lease: STORE-6, a new lease, or what became of one. An attempt of a job is one lease, and one
-- that has ended keeps its status for good (STATE-3).
-- in: the columns, in the order of leaseParams
-- out: one change, or none if the attempt is another lease or has ended otherwise
INSERT OR ROLLBACK INTO leases (
  job, attempt, id, status, provider_id, t_start, t_deadline, renewals, is_acked, epoch, round,
  digest, length_ms, ack_timeout_ms, renew_alpha, renew_beta, renewals_max, worker_id
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job, attempt) DO UPDATE SET
  status = excluded.status,
  provider_id = excluded.provider_id,
  t_start = excluded.t_start,
  t_deadline = excluded.t_deadline,
  renewals = excluded.renewals,
  is_acked = excluded.is_acked,
  epoch = excluded.epoch,
  round = excluded.round,
  digest = excluded.digest,
  length_ms = excluded.length_ms,
  ack_timeout_ms = excluded.ack_timeout_ms,
  renew_alpha = excluded.renew_alpha,
  renew_beta = excluded.renew_beta,
  renewals_max = excluded.renewals_max,
  worker_id = excluded.worker_id
WHERE id = excluded.id AND (status IN ('ACTIVE', 'RENEWED') OR status = excluded.status)
