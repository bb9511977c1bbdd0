-- jobs: a page of the jobs of version 4, with their payloads and the numbers of their entries.
-- in: number after which it begins, limit      out: the columns of JOB, payload, entries
SELECT
  jobs.seq, jobs.id, callers.id, jobs.tx_hash, jobs.kind, jobs.tier, jobs.fee, jobs.size_bytes, jobs.model, jobs.shots,
  jobs.depth_hint, jobs.units, jobs.tokens, jobs.regions, jobs.needs, jobs.ttl_abs_secs, jobs.enqueue_ts,
  jobs.chain_id, jobs.enqueue_height, jobs.origin, NULL AS options, jobs.status, jobs.provider_id, jobs.attempt, jobs.retries,
  jobs.declines, jobs.worker_losses, jobs.not_before, jobs.first_assigned_at, jobs.ended_at, jobs.reason,
  jobs.proof_awaited_since, jobs.denials, NULL AS released_at,
  payloads.payload, jobs.entries
FROM jobs
JOIN callers ON callers.no = jobs.caller
JOIN payloads ON payloads.job = jobs.seq
WHERE jobs.seq > ?
ORDER BY jobs.seq
LIMIT ?
