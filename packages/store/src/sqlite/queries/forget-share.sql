-- forget-share: STORE-7, a caller without a finish time has no row (FAIR-4).
-- in: kind, number of the caller      out: one change, or none if there was no row
DELETE FROM shares WHERE kind = ? AND caller = ?
