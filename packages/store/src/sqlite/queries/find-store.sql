-- find-store: STORE-14, the store itself: its id and the last batch of its log that is in the tables.
-- in: nothing      out: one row
SELECT id, carried FROM store
