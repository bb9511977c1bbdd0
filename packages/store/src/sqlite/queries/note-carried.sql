-- note-carried: STORE-14, STORE-17, the last batch of the log that is in the tables, and the last of which anything is.
-- in: their numbers      out: one change
UPDATE store SET carried = ?, checked = ?
