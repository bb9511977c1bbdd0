-- append-journal: STORE-5, entries that were written together.
-- in: numbers of the first and the last, the block      out: one change
INSERT OR ROLLBACK INTO journal (first, last, entries) VALUES (?, ?, ?)
