-- clear-lane: every piece of a lane.
-- in: lane      out: nothing
DELETE FROM lanes WHERE lane = ?
