-- leases: the leases of the jobs between two numbers.
-- in: the number before the first, the last      out: the columns of LEASE
SELECT
  leases.job, leases.attempt, leases.id, jobs.id, leases.provider_id, leases.t_start, leases.epoch, leases.round,
  leases.length_ms, leases.renew_alpha, leases.renew_beta, leases.renewals_max, leases.status, leases.t_deadline,
  leases.renewals, leases.is_acked, leases.digest, leases.ack_timeout_ms, leases.worker_id,
  NULL AS timeout_at
FROM leases
JOIN jobs ON jobs.seq = leases.job
WHERE leases.job > ? AND leases.job <= ?
