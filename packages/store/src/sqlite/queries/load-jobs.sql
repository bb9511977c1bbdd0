-- load-jobs: STORE-4, a page of the live jobs in order of acceptance, as one JSON text. That takes half of the time that
-- the driver needs for as many columns.
-- in: number after which it begins, limit
-- out: a list with the columns of JOB for each job, ids as text, its sums, and two flags: tier and model are hex; the last number; how many
SELECT
  json_group_array(json_array(
    seq, '0x' || lower(hex(id)), '0x' || lower(hex(caller)), '0x' || lower(hex(tx_hash)), kind,
    -- JSON has no bytes, which text with U+0000 is stored as.
    iif(typeof(tier) = 'blob', hex(tier), tier), fee, size_bytes, iif(typeof(model) = 'blob', hex(model), model),
    shots, depth_hint, units, tokens, regions, needs, ttl_abs_secs, enqueue_ts, chain_id, enqueue_height, origin, options,
    status, provider_id, attempt, retries, declines, worker_losses, not_before, first_assigned_at, ended_at, reason,
    proof_awaited_since, denials, released_at,
    facts_sum, state_sum, typeof(tier) = 'blob', typeof(model) = 'blob'
  )),
  max(seq),
  count(*)
FROM (
  SELECT * FROM jobs
  WHERE ended_at IS NULL AND seq > ?
  ORDER BY seq
  LIMIT ?
)
