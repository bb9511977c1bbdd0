-- drop-old-rounds: STORE-10, all but the newest heights.
-- in: the number of heights that stay      out: a change each
DELETE FROM rounds
WHERE height <= (SELECT DISTINCT height FROM rounds ORDER BY height DESC LIMIT 1 OFFSET @kept)
