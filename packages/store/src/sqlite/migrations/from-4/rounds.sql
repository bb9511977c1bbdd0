-- rounds: all of them.
-- in: nothing      out: the columns of ROUND
SELECT height, kind, at, seed, batch_digest, batch_size, match_order, providers, ranks, assignments, refusals FROM rounds
