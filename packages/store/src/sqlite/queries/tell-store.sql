-- tell-store: the row about the store, as find-store gives it.
-- in: nothing      out: one row, told
SELECT tell(
  id, batch, is_clean, jobs, leases, results, journal_first, journal_last, journal_before, journal_hash,
  prune_ended, prune_results, marks
)
FROM store
