-- update-job: STORE-6, what became of a job. One that has ended keeps its status for good (STATE-2).
-- in: number and id of the job, the columns in the order of putJobState, numbers of new entries
-- out: one change, or none if there is no such job or it has ended otherwise
UPDATE jobs SET
  status = ?3, provider_id = ?4, attempt = ?5, retries = ?6, declines = ?7, not_before = ?8,
  first_assigned_at = ?9, ended_at = ?10, reason = ?11, proof_awaited_since = ?12, denials = ?13,
  entries = entries || ?14
WHERE seq = ?1 AND id = ?2 AND (ended_at IS NULL OR status = ?3)
