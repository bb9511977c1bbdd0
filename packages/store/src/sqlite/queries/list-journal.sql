-- list-journal: STORE-8, a page of the journal, oldest first.
-- in: seq after which it begins, limit      out: at most `limit` rows
SELECT * FROM journal_rows
WHERE seq > ?
ORDER BY seq
LIMIT ?
