-- cut-journal: STORE-15, entries up to a number.
-- in: the number      out: a change each
DELETE FROM journal WHERE seq <= ?
