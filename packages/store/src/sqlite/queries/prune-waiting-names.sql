-- prune-waiting-names: the same for those that are not in their table yet.
-- in: time before which the job ended      out: a change each
DELETE FROM waiting_names
WHERE (name, job) IN (SELECT name, job FROM job_names WHERE ended_at < ?)
