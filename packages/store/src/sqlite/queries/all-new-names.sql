-- all-new-names: the names that may not be in their table yet.
-- in: nothing      out: pieces of them, oldest first
SELECT no, names FROM new_names
ORDER BY no
