-- find-log-ends: LOG-2, the newest record, and the newest that is trimmed.
-- in: nothing      out: number, digest, number of the newest trimmed one
SELECT seq, digest, (SELECT max(seq) FROM log WHERE partition = 0 AND body IS NULL) FROM log
WHERE partition = 0
ORDER BY seq DESC
LIMIT 1
