-- find-records: LOG-15, the records from a number on, to tell what became of an append.
-- in: the number, limit      out: a row each
SELECT seq, epoch, digest, body FROM log
WHERE partition = 0 AND seq >= @seq
ORDER BY seq
LIMIT @limit
