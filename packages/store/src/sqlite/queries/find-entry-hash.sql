-- find-entry-hash: the hash of an entry.
-- in: its number      out: one row, or none
SELECT hash FROM journal WHERE seq = ?
