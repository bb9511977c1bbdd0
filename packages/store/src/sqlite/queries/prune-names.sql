-- prune-names: STORE-10, a job that was kept long enough goes with its names (TTL-3). Before all else of it.
-- in: time before which it ended      out: a change each
DELETE FROM names
WHERE (name, job) IN (SELECT name, job FROM job_names WHERE ended_at < ?)
