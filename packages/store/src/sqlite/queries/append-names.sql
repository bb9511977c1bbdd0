-- append-names: the names of some jobs, in one piece.
-- in: its number, the names      out: one change
INSERT INTO new_names (no, names)
VALUES (?, ?)
