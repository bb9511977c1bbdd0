-- find-round: what a round decided for a kind.
-- in: height, kind      out: one row, or none
SELECT * FROM round_rows
WHERE height = ? AND kind = ?
