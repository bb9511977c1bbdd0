-- all-journal: STORE-9, the whole journal.
-- in: nothing      out: a row each
SELECT * FROM journal_rows
ORDER BY seq
