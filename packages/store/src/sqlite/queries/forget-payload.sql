-- forget-payload: STORE-14, what an unfinished carrying over may have left of a new job.
-- in: number of the job      out: one change, or none
DELETE FROM payloads WHERE job = ?
