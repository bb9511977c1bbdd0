-- read-log: LOG-6, the next records, about so many bytes of them and at least one.
-- in: the number behind which they begin, the last number, bytes      out: a row each
SELECT seq, digest, body FROM (
  SELECT seq, digest, body, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before
  FROM (
    SELECT seq, digest, body FROM log
    WHERE partition = 0 AND seq > @after AND seq <= @last
    ORDER BY seq
    LIMIT 1000
  ) AS page
) AS measured
WHERE bytes_before IS NULL OR bytes_before < @bytes::bigint
ORDER BY seq
