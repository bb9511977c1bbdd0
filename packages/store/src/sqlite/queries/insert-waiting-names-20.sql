-- insert-waiting-names-20: twenty of them, as insert-waiting-name writes one.
-- in: name and number of the job of each      out: at most twenty changes
INSERT OR IGNORE INTO waiting_names (name, job)
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
