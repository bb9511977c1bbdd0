-- list-timeline: STORE-8, what happened to a job, oldest first; it outlives the job (TTL-3).
-- in: id of the job      out: a row each
SELECT * FROM journal_rows
WHERE job = (SELECT no FROM ids WHERE id = ?)
ORDER BY seq
