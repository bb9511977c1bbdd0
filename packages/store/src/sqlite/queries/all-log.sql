-- all-log: STORE-14, the batches whose rows are not in their tables yet, oldest first.
-- in: nothing      out: a row each
SELECT batch FROM log
ORDER BY no
