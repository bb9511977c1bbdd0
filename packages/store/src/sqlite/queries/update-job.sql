-- update-job: STORE-6, what became of a job. One that has ended keeps its status for good (STATE-2).
-- in: the columns in the order of stateParams, number of the job
-- out: one change, or none if there is no such job or it has ended otherwise
UPDATE jobs SET
  status = ?1, provider_id = ?2, attempt = ?3, retries = ?4, declines = ?5, not_before = ?6,
  first_assigned_at = ?7, ended_at = ?8, reason = ?9, proof_awaited_since = ?10, denials = ?11
WHERE no = ?12 AND (ended_at IS NULL OR status = ?1)
