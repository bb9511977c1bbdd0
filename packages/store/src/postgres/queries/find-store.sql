-- find-store: STORE-14, the store itself. An apply whose connection was lost ends before, one way or the other.
-- in: nothing      out: one row
SELECT batch, writes, journal_last, journal_hash, prune_ended, prune_results FROM store FOR UPDATE
