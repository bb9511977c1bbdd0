-- insert-payload: the payload of a new job.
-- in: number of the job, payload      out: one change
INSERT OR ROLLBACK INTO payloads (job, payload)
VALUES (?, ?)
