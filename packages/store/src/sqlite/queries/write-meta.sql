-- write-meta: STORE-7, a counter or setting as it is now.
-- in: name, value      out: one change
INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)
