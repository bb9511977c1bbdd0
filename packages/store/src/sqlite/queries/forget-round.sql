-- forget-round: STORE-14, what an unfinished carrying over may have left of a round.
-- in: height, kind      out: one change, or none
DELETE FROM rounds WHERE height = ? AND kind = ?
