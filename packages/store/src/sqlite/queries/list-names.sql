-- list-names: the names that jobs are found by, a page of them.
-- in: the first that is asked for, at most so many      out: in order; a name that several jobs have comes several times
SELECT name, job FROM all_names
WHERE name >= ?
ORDER BY name, job
LIMIT ?
