-- find-job-stub: STORE-6, what a change of a job is checked by.
-- in: number      out: one row, or none
SELECT id, status FROM jobs WHERE seq = ?
