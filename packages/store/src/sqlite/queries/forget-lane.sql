-- forget-lane: STORE-7, a piece without a value has no row.
-- in: lane, key      out: one change, or none if there was no row
DELETE FROM lanes WHERE lane = ? AND key = ?
