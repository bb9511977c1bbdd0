-- write-share: STORE-7, the finish time of a caller under fair shares.
-- in: kind, number of the caller, finish time      out: one change
INSERT OR REPLACE INTO shares (kind, caller, finish) VALUES (?, ?, ?)
