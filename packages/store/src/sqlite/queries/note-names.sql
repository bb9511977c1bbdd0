-- note-names: how far the names are that move into their table.
-- in: the turn, the first that did not move in it      out: one change
UPDATE store SET names_turn = ?, names_at = ?
