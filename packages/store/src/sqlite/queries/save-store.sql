-- save-store: the state of the store with each commit.
-- in: the columns behind the id, in the order of the table      out: one change
UPDATE store SET
  batch = ?, is_clean = ?, jobs = ?, leases = ?, results = ?, journal_first = ?, journal_last = ?,
  journal_before = ?, journal_hash = ?, prune_ended = ?, prune_results = ?, marks = ?
