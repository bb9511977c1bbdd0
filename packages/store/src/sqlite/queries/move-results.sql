-- move-results: CLOCK-1, times of results that lie after one become earlier.
-- in: by how much, after which time      out: changes
UPDATE results SET at = at - ?1 WHERE at > ?2
