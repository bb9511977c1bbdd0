-- restore-names-20: after a restart, the names that were not in their table when the process stopped, or not for good.
-- in: name and number of the job of each      out: a change for each whose job is still there
INSERT OR IGNORE INTO waiting_names (name, job)
SELECT column1, column2 FROM (
  VALUES
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?),
    (?, ?)
)
WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.seq = column2)
