-- all-shares: STORE-9, every row of shares in order.
-- in: nothing      out: a row each
SELECT {shares} FROM shares
ORDER BY kind, caller
