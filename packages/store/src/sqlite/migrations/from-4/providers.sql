-- providers: all of them.
-- in: nothing      out: the columns of PROVIDER
SELECT
  id, status, capabilities, models, platforms, max_depth, max_shots, max_width, gates, precision, region, allow, deny,
  leases_max, stake, attestation, last_heartbeat, credited_at, silent_steps, health, failures, cooldown_until,
  class_cooldowns, units, workers
FROM providers
