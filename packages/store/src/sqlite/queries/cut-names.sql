-- cut-names: all of the pieces that came before a turn are in their table.
-- in: the turn      out: a change each
DELETE FROM new_names
WHERE turn < ?
