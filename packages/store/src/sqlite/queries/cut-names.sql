-- cut-names: all of these pieces are in their table.
-- in: the number of the last of them      out: a change each
DELETE FROM new_names
WHERE no <= ?
