-- update-job: STORE-6, what became of a job. An ended job keeps its status (STATE-2).
-- in: the columns in the order of JOB_CHANGE, their sum      out: one change, or none if there is no such job or it ended otherwise
UPDATE OR ROLLBACK jobs SET
  status = ?3, provider_id = ?4, attempt = ?5, retries = ?6, declines = ?7, worker_losses = ?8,
  not_before = ?9, first_assigned_at = ?10, ended_at = ?11, reason = ?12, proof_awaited_since = ?13,
  denials = ?14, released_at = ?15, state_sum = ?16
WHERE seq = ?1 AND id = ?2 AND (ended_at IS NULL OR status = ?3)
