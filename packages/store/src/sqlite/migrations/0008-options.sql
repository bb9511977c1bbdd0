-- Version 8: options of one job.

-- NULL: none. JSON, with the fields that were given.
ALTER TABLE jobs ADD COLUMN options TEXT;
-- When the last job that it waited for ended; NULL: it waits for none, or waits still.
ALTER TABLE jobs ADD COLUMN released_at INTEGER;
-- NULL: the attempt has no longest time, or was not acked.
ALTER TABLE leases ADD COLUMN timeout_at INTEGER;
