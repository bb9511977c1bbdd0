-- insert-waiting-name: a name of a job that comes into its table later.
-- in: name, number of the job      out: one change, or none
INSERT OR IGNORE INTO waiting_names (name, job)
VALUES (?, ?)
