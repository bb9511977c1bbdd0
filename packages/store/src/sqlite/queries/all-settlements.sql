-- all-settlements: STORE-9, every row of settlements in order.
-- in: nothing      out: a row each
SELECT {settlements} FROM settlements ORDER BY epoch_id
