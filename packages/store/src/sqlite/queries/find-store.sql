-- find-store: STORE-14, STORE-17, the store itself: its id, the last batch of its log that is in the tables,
-- and the last of which anything is, or NULL if that may be any.
-- in: nothing      out: one row
SELECT id, carried, checked FROM store
