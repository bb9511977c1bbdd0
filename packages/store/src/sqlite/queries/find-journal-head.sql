-- find-journal-head: STORE-4, where the journal stands.
-- in: nothing      out: one row, or none while the journal is empty
SELECT seq, '0x' || lower(hex(hash)) AS hash FROM journal
ORDER BY seq DESC
LIMIT 1
