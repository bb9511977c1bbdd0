-- forget-waiting-names: those that were moved.
-- in: the first, the first that stays      out: a change each
DELETE FROM waiting_names
WHERE name >= ? AND name < ?
