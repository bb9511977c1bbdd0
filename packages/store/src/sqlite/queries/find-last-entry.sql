-- find-last-entry: STORE-14, the numbers of the entries about a job.
-- in: number of the job      out: one row, or none
SELECT entries FROM jobs WHERE seq = ?
