-- move-kept-results: CLOCK-1, the same of results whose jobs were deleted.
-- in: by how much, after which time      out: changes
UPDATE kept_results SET at = at - ?1 WHERE at > ?2
