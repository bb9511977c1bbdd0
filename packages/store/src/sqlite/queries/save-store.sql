-- save-store: the state of the store with each commit.
-- in: the columns of STORE, their sum      out: one change
UPDATE store SET
  id = ?, batch = ?, is_clean = ?, jobs = ?, leases = ?, results = ?, journal_first = ?, journal_last = ?,
  journal_before = ?, journal_hash = ?, prune_ended = ?, prune_results = ?, marks = ?, sum = ?
