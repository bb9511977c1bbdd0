-- lanes: all of them.
-- in: nothing      out: the columns of LANE
SELECT lane, key, value FROM lanes
