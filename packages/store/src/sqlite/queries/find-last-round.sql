-- find-last-round: the greatest height of a round.
-- in: nothing      out: one row, or none
SELECT height FROM rounds
ORDER BY height DESC
LIMIT 1
