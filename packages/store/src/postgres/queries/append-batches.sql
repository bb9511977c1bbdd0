-- append-batches: LOG-15, only the current leader appends, and only behind what it knows. One statement is one commit.
-- in: epoch, the number and digest of the record before, lists of numbers, digests and bodies      out: as many changes, or none if refused
INSERT INTO log (partition, seq, epoch, digest, body)
SELECT 0, n.seq, @epoch, n.digest, n.body
FROM unnest(@seqs::bigint[], @digests::bigint[], @bodies::bytea[]) AS n (seq, digest, body)
WHERE EXISTS (SELECT FROM leaders WHERE partition = 0 AND epoch = @epoch::bigint)
  -- The primary key alone is no fence: after a trim it would accept an old number.
  AND EXISTS (SELECT FROM log WHERE partition = 0 AND seq = @before::bigint AND digest = @digest_before::bigint)
