-- find-result: the result of a job; it outlives the job (TTL-3).
-- in: id of the job      out: one row, or none
SELECT * FROM result_rows
WHERE job = (SELECT no FROM ids WHERE id = ?)
