-- all-rounds: STORE-9, every round in order of its height and kind.
-- in: nothing      out: a row each
SELECT * FROM round_rows
ORDER BY height, kind
