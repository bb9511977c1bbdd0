-- find-names-turn: how far the names are that move into their table.
-- in: nothing      out: the turn, the first that did not move in it
SELECT names_turn, names_at FROM store
