-- journal: a page of the blocks of the journal; see copy-journal.ts.
-- in: number of the entry after which it begins, limit      out: first and last number, entries
SELECT first, last, entries FROM journal
WHERE first > ?
ORDER BY first
LIMIT ?
