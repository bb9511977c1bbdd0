-- write-result: STORE-7, the result of a job; a later one takes its place.
-- in: the columns, in the order of resultParams
-- out: one change
INSERT OR REPLACE INTO results (job, lease_id, provider_id, digest, units, at, output, meta)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
