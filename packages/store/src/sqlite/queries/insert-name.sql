-- insert-name: a name of a job. One that an unfinished carrying over left is the same.
-- in: name, number of the job      out: one change, or none
INSERT OR IGNORE INTO names (name, job)
VALUES (?, ?)
