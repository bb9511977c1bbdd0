-- find-number: the number of an id.
-- in: id      out: one row, or none if no row has named it yet
SELECT no FROM ids WHERE id = ?
