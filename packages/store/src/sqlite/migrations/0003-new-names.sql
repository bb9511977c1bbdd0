-- Names lie at random, so the names of a few new jobs would take a page each of their table. They are kept here first,
-- those of each few jobs in one piece, and move into the table by and by, in its order; see stored-names.ts.
CREATE TABLE new_names (
  no    INTEGER PRIMARY KEY,
  -- On which way through the table it came, and how far that was.
  turn  INTEGER NOT NULL,
  at    INTEGER NOT NULL,
  -- Of each its number and that of its job.
  names BLOB NOT NULL
) STRICT;

-- The same of the names: which way through their table it is, and below what all of them are in it.
ALTER TABLE store ADD COLUMN names_turn INTEGER NOT NULL DEFAULT 1;
ALTER TABLE store ADD COLUMN names_at INTEGER NOT NULL DEFAULT 0;
