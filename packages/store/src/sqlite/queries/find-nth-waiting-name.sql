-- find-nth-waiting-name: where to stop, if so many are to be moved.
-- in: the first that is moved, how many      out: the first that stays, or none
SELECT name FROM waiting_names
WHERE name >= ?
ORDER BY name, job
LIMIT 1 OFFSET ?
