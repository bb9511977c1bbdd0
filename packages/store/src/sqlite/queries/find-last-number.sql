-- find-last-number: where the numbers of ids go on.
-- in: nothing      out: one row
SELECT coalesce(max(no), 0) AS no FROM ids
