-- write-failure: STORE-7, why an attempt of a job failed.
-- in: the columns, in the order of putFailure      out: one change
INSERT OR REPLACE INTO failures (job, attempt, at, code, message, details)
VALUES (?, ?, ?, ?, ?, ?)
