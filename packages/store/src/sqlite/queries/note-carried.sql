-- note-carried: STORE-14, the last batch of the log that is in the tables.
-- in: its number      out: one change
UPDATE store SET carried = ?
