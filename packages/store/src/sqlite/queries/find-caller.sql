-- find-caller: the number of a caller.
-- in: id      out: one row, or none
SELECT no FROM callers WHERE id = ?
