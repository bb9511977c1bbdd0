-- move-names: names into their table, in its order. One that is there already is the same.
-- in: the first, the first that stays      out: a change each
INSERT OR IGNORE INTO names (name, job)
SELECT name, job FROM waiting_names
WHERE name >= ? AND name < ?
ORDER BY name, job
