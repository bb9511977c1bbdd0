-- write-provider: STORE-7, a provider as it is now.
-- in: the columns, in the order of putProvider      out: one change
INSERT OR REPLACE INTO providers (
  id, status, capabilities, models, platforms, max_depth, max_shots, max_width, gates, precision, region,
  allow, deny, leases_max, stake, attestation, last_heartbeat, credited_at, silent_steps, health, failures,
  cooldown_until, class_cooldowns, units, workers
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
