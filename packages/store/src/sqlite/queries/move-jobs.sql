-- move-jobs: CLOCK-1, times of jobs that lie after one become earlier. What a provider was denied for a while is forgotten.
-- in: by how much, after which time      out: changes
UPDATE jobs SET
  enqueue_ts = enqueue_ts - ?1 * (enqueue_ts > ?2),
  not_before = not_before - ?1 * (not_before > ?2),
  first_assigned_at = first_assigned_at - ?1 * (first_assigned_at > ?2),
  proof_awaited_since = proof_awaited_since - ?1 * (proof_awaited_since > ?2),
  ended_at = ended_at - ?1 * (ended_at > ?2),
  released_at = released_at - ?1 * (released_at > ?2),
  denials = NULL
WHERE enqueue_ts > ?2 OR not_before > ?2 OR first_assigned_at > ?2 OR proof_awaited_since > ?2 OR ended_at > ?2 OR released_at > ?2
  OR denials IS NOT NULL
