-- has-name: STORE-5, whether this name is taken.
-- in: a name      out: one row, or none
SELECT name FROM all_names
WHERE name = ?
