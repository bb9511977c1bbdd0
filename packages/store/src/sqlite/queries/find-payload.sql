-- find-payload: the canonical payload of a job.
-- in: id      out: one row, or none
SELECT payload FROM payloads
WHERE job = (SELECT no FROM ids WHERE id = ?)
