-- tell-log-size: the size of the log with its indexes, and its first number.
-- in: nothing      out: bytes, number
SELECT pg_total_relation_size('log'), (SELECT min(seq) FROM log WHERE partition = 0 AND body IS NOT NULL)
