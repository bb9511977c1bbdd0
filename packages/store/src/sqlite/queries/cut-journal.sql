-- cut-journal: STORE-15, blocks that have entries up to a number; the rest of the last is written anew.
-- in: number of the entry      out: a change each
DELETE FROM journal
WHERE first <= ?
