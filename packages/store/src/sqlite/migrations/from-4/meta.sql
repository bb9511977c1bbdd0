-- meta: all of it.
-- in: nothing      out: the columns of META
SELECT name, value FROM meta
