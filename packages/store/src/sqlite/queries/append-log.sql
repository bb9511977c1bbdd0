-- append-log: STORE-14, the rows of a batch, until they are in their tables.
-- in: the batch      out: one change
INSERT INTO log (batch) VALUES (?)
