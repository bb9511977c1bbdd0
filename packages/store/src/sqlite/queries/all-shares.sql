-- all-shares: STORE-9, every share in order of its kind and its caller's id.
-- in: nothing      out: a row each
SELECT * FROM share_rows
ORDER BY kind, caller_id
