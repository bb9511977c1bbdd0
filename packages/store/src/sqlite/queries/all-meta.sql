-- all-meta: STORE-9, every counter and setting in order of its name.
-- in: nothing      out: a row each
SELECT name, value FROM meta
ORDER BY CAST(name AS BLOB)
