-- find-store: the store itself.
-- in: nothing      out: one row
SELECT {store} FROM store
