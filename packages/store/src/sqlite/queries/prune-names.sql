-- prune-names: STORE-10, a job that was kept long enough goes with its names (TTL-3). Before all else of it.
-- in: time before which it ended      out: a change each
DELETE FROM names
WHERE (name, job) IN (
  SELECT name_of(id), seq FROM jobs WHERE ended_at < ?1
  UNION ALL
  SELECT name_of_key(callers.id, jobs.tx_hash), jobs.seq FROM jobs
  JOIN callers ON callers.no = jobs.caller
  WHERE jobs.ended_at < ?1
  UNION ALL
  SELECT name_of(leases.id), leases.job FROM jobs
  JOIN leases ON leases.job = jobs.seq
  WHERE jobs.ended_at < ?1
)
