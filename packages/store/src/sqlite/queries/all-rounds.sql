-- all-rounds: STORE-9, every row of rounds in order.
-- in: nothing      out: a row each
SELECT {rounds} FROM rounds
ORDER BY height, kind
