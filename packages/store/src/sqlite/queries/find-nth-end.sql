-- find-nth-end: STORE-10, when a job ended that so many others ended before, of those that may be deleted.
-- in: time before which they ended, how many      out: one row, or none if there are fewer
SELECT ended_at FROM jobs
WHERE ended_at < ?
ORDER BY ended_at, seq
LIMIT 1 OFFSET ?
