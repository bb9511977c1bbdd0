-- providers: all of them.
-- in: nothing      out: the columns of PROVIDER
SELECT
  id, status, capabilities, models, platforms, max_depth, max_shots, max_width, gates, precision, region, allow, deny,
  leases_max, stake,
  json_object(
    'retired', json(iif(status = 'RETIRED', 'true', 'false')),
    'jailedUntil', iif(status = 'JAILED', 9007199254740991, NULL),
    'suspended', json(iif(status = 'SUSPENDED', 'true', 'false')),
    'paused', json('false'),
    'admitted', json(iif(status = 'REGISTERED', 'false', 'true'))
  ),
  NULL, attestation, last_heartbeat, credited_at, silent_steps, health, failures, cooldown_until,
  class_cooldowns, units, workers
FROM providers
