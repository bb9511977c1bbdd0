-- find-last-caller: the highest number of a caller.
-- in: nothing      out: one row, or none while there are no callers
SELECT no FROM callers ORDER BY no DESC LIMIT 1
