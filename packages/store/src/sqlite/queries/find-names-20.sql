-- find-names-20: STORE-5, which of these names are taken.
-- in: twenty names      out: a row for each job under one of them
SELECT name FROM all_names
WHERE name IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
