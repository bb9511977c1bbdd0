-- write-lane: STORE-7, a piece of the state of admit as it is now.
-- in: lane, key, value      out: one change
INSERT OR REPLACE INTO lanes (lane, key, value) VALUES (?, ?, ?)
