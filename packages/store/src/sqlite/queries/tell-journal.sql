-- tell-journal: AUDIT-2, all entries, in their order.
-- in: nothing      out: a row each, told
SELECT tell(seq, at, actor, action, subject, details, hash) FROM journal
ORDER BY seq
