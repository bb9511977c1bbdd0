-- number-caller: the number of a caller that is new to this file.
-- in: number, id      out: one change
INSERT OR ROLLBACK INTO callers (no, id) VALUES (?, ?)
