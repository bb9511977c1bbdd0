-- forget-lane: STORE-7, a piece of a lane without a value.
-- in: lane, key      out: one change, or none
DELETE FROM lanes WHERE lane = ? AND key = ?
