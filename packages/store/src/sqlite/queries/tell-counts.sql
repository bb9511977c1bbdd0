-- tell-counts: STORE-13, the lengths of the tables that the row about the store counts, and the last entry.
-- in: nothing      out: one row, told
SELECT tell(
  (SELECT count(*) FROM jobs), (SELECT count(*) FROM payloads), (SELECT count(*) FROM leases),
  (SELECT count(*) FROM results), (SELECT count(*) FROM journal),
  (SELECT coalesce(max(seq), 0) FROM journal)
)
