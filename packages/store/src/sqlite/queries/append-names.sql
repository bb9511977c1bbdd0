-- append-names: the names of some jobs, in one piece.
-- in: the turn in which it comes, how far that is, the names      out: one change
INSERT INTO new_names (turn, at, names)
VALUES (?, ?, ?)
