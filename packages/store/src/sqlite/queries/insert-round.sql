-- insert-round: what a round decided for a kind, once.
-- in: the columns, in the order of roundParams      out: one change
INSERT INTO rounds (height, kind, at, seed, batch_digest, batch_size, providers, assignments)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
