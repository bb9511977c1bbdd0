-- insert-job: STORE-5, a new job; its number, id and (caller, tx_hash) are unique.
-- in: number, id, number of the caller, tx_hash, the cells of putJob, status, the cells of putJobState, numbers of its entries
-- out: one change
INSERT OR ROLLBACK INTO jobs (
  seq, id, caller, tx_hash, kind, enqueue_height, tier, fee, size_bytes, model, shots, depth_hint,
  units, tokens, regions, needs, ttl_abs_secs, enqueue_ts, chain_id, origin,
  status, provider_id, attempt, retries, declines, worker_losses, not_before, first_assigned_at, ended_at,
  reason, proof_awaited_since, denials, entries
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
