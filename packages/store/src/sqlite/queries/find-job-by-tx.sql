-- find-job-by-tx: the job that a request led to; (caller, tx_hash) is unique.
-- in: id of the caller, tx_hash      out: one row, or none
SELECT * FROM job_rows
WHERE no = (
  SELECT no FROM jobs WHERE caller = (SELECT no FROM ids WHERE id = ?) AND tx_hash = ?
)
