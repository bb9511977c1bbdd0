-- move-leases: CLOCK-1, times of leases that lie after one become earlier.
-- in: by how much, after which time      out: changes
UPDATE leases SET
  t_start = t_start - ?1 * (t_start > ?2),
  t_deadline = t_deadline - ?1 * (t_deadline > ?2),
  timeout_at = timeout_at - ?1 * (timeout_at > ?2)
WHERE t_start > ?2 OR t_deadline > ?2 OR timeout_at > ?2
