-- take-epoch: LEADER-1, this node leads from now on. Nobody has an append under way: the log is locked.
-- in: node      out: epoch
UPDATE leaders SET epoch = epoch + 1, node = @node, beat_at = clock_timestamp()
WHERE partition = 0
RETURNING epoch
