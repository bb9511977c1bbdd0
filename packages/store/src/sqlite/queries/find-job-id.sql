-- find-job-id: whether there is a job of this id.
-- in: id      out: one row, or none
SELECT seq FROM jobs WHERE id = ?
