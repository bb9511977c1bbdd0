-- trim-log: LOG-7, deletes records that the tables have. The last of them stays without its body, for the record behind it.
-- in: the number from which and up to which they go, epoch      out: one change, or none if refused
WITH allowed AS (
  SELECT FROM store, leaders
  WHERE store.batch >= @seq::bigint AND leaders.partition = 0 AND leaders.epoch = @epoch::bigint
), gone AS (
  -- From where the last trim ended: deleted rows before it would be passed again each time.
  DELETE FROM log
  WHERE partition = 0 AND seq >= @from::bigint AND seq < @seq::bigint AND EXISTS (SELECT FROM allowed)
)
UPDATE log SET body = NULL WHERE partition = 0 AND seq = @seq::bigint AND EXISTS (SELECT FROM allowed)
