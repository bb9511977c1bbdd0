-- append-journal: STORE-5, one entry; its seq is unique, and no entry is ever changed (AUDIT-1).
-- in: the columns, in the order of journalParams
-- out: one change
INSERT OR ROLLBACK INTO journal (seq, at, actor, action, subject, details, hash, prev_hash, job)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
