-- update-jobs: STORE-6, what became of jobs. An ended job keeps its status (STATE-2).
-- in: lists of the columns of JOB_CHANGE      out: a change for each that is there and has not ended otherwise
UPDATE jobs SET {set}
FROM {rows}
WHERE jobs.seq = n.seq AND jobs.id = n.id AND (jobs.ended_at IS NULL OR jobs.status = n.status)
