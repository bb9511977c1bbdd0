-- drop-old-rounds: STORE-10, only the newest rounds are kept, each with all of its kinds.
-- in: how many      out: a change for each row that was dropped
DELETE FROM rounds
WHERE height < (
  SELECT min(height) FROM (SELECT DISTINCT height FROM rounds ORDER BY height DESC LIMIT ?)
)
