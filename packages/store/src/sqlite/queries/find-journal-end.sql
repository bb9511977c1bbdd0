-- find-journal-end: STORE-4, the newest block.
-- in: nothing      out: one row, or none while the journal is empty
SELECT first, last, entries FROM journal
ORDER BY first DESC
LIMIT 1
