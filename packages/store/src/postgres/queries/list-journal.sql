-- list-journal: STORE-8, entries after a number, each with the hash of the one before it.
-- in: the number, limit      out: a row each
SELECT
  seq, at, actor, action, subject, details, details_cbor, hash,
  coalesce(
    (SELECT before.hash FROM journal AS before WHERE before.seq = journal.seq - 1),
    (SELECT journal_before FROM store)
  )
FROM journal
WHERE seq > @after
ORDER BY seq
LIMIT @limit
