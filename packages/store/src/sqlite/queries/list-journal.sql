-- list-journal: STORE-8, the blocks from the one that has an entry on.
-- in: number of the entry      out: a row each, oldest first
SELECT first, last, entries FROM journal
WHERE first >= coalesce((SELECT max(first) FROM journal WHERE first <= ?1), 0)
ORDER BY first
