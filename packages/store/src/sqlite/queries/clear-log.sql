-- clear-log: STORE-14, all rows are in their tables.
-- in: nothing      out: a change each
DELETE FROM log
