-- forget-share: STORE-7, a share without a finish time.
-- in: kind, caller      out: one change, or none
DELETE FROM shares WHERE kind = ? AND caller = ?
