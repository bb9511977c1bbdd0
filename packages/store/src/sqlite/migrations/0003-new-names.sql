-- Names lie at random, so the names of a few new jobs would take a page each of their table. They are kept here first,
-- those of each few jobs in one piece, and go into the table by and by, in its order; see stored-names.ts.
CREATE TABLE new_names (
  no    INTEGER PRIMARY KEY,
  -- Of each its number and that of its job.
  names BLOB NOT NULL
) STRICT;
