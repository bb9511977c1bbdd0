-- The number of the last batch of the log of which anything can be in the tables: those behind it are
-- looked at anew after a restart, because their giver may have written them and died before anybody
-- did (STORE-17). NULL where an older version has written: all that is in its log was looked at.
ALTER TABLE store ADD COLUMN checked INTEGER;

-- Where the tables are empty nothing is.
UPDATE store SET checked = carried
WHERE NOT EXISTS (
  SELECT 1 FROM jobs
  UNION ALL SELECT 1 FROM journal
  UNION ALL SELECT 1 FROM meta
  UNION ALL SELECT 1 FROM providers
  UNION ALL SELECT 1 FROM shares
  UNION ALL SELECT 1 FROM lanes
  UNION ALL SELECT 1 FROM rounds
);
