-- find-job-seq: whether there is a job of this number.
-- in: number      out: one row, or none
SELECT seq FROM jobs WHERE seq = ?
