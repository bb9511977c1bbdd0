-- save-store: STORE-14 and LEADER-1, the end of each apply. The row of the leader is held until the commit, so nobody takes over between.
-- in: batch, writes, epoch, journal_last, journal_hash, prune_ended, prune_results      out: one change; an error if this node leads no longer
UPDATE store SET
  batch = @batch, writes = @writes, journal_last = @journal_last, journal_hash = @journal_hash,
  prune_ended = @prune_ended, prune_results = @prune_results,
  epoch = (SELECT epoch FROM leaders WHERE partition = 0 AND epoch = @epoch::bigint FOR SHARE)
WHERE writes = @writes::bigint - 1
