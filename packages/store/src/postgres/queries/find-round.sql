-- find-round: the decisions of a round for a kind.
-- in: height, kind      out: one row, or none
SELECT {rounds} FROM rounds WHERE height = @height AND kind = @kind
