-- insert-round: what a round decided for a kind, once.
-- in: the columns, in the order of putRound      out: one change
INSERT INTO rounds (
  height, kind, at, seed, batch_digest, batch_size, match_order, providers, ranks, assignments,
  refusals
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
