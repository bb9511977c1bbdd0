-- all-meta: STORE-9, every row of meta in order.
-- in: nothing      out: a row each
SELECT {meta} FROM meta
ORDER BY CAST(name AS BLOB)
