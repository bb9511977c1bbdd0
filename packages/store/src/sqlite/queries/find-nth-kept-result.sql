-- find-nth-kept-result: STORE-10, the time of a result that so many others come before, of those that are due.
-- in: time before which a result is due, how many      out: one row, or none if there are fewer
SELECT at FROM kept_results
WHERE at < ?
ORDER BY at, job_id, job
LIMIT 1 OFFSET ?
