-- insert-entries: AUDIT-1, new entries of the journal.
-- in: lists of the columns      out: a change each
INSERT INTO journal (seq, at, actor, action, subject, job, details, details_cbor, hash)
SELECT * FROM unnest(
  @seq::bigint[], @at::bigint[], @actor::text[], @action::text[], @subject::text[], @job::bigint[], @details::json[],
  @details_cbor::bytea[], @hash::bytea[]
)
