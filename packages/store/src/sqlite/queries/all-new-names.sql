-- all-new-names: the names of which some may not be in their table yet.
-- in: nothing      out: pieces of them, oldest first
SELECT turn, at, names FROM new_names
ORDER BY no
